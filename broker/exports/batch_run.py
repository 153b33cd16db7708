"""How a batch job of the plan is started: what its script is told on each of its nodes.

The script is the user's: what is read, asked and written is theirs to say. It is named in
BATCH_SCRIPT, started once on each node, and told in the environment what sizing counted with and
which part of the work is its own (NODE_RANK of NODES).
"""

import math

from broker.domain.batch import BatchRun
from broker.domain.candidate import BatchCandidate
from broker.domain.llm import LlmModel

SCRIPT = '"$BATCH_SCRIPT" $BATCH_ARGS'


def environment(candidate: BatchCandidate, run: BatchRun, model: LlmModel) -> dict[str, str]:
    """Tell the script what the plan rests on; all values are text."""
    layout = candidate.layout
    figures: dict[str, object] = {
        "BATCH_SCRIPT": "",
        "BATCH_ARGS": "",
        "MODEL_ID": run.model if "/" in run.model else model.hf_id,
        "PRECISION": candidate.precision.value,
        "KV_PRECISION": run.job.kv_precision.value,
        "TOKENS": math.ceil(run.tokens),
        "REPLICAS_PER_NODE": candidate.replicas,
        "TENSOR_PARALLEL": layout.tensor,
        "PIPELINE_PARALLEL": layout.pipeline,
        "DATA_PARALLEL": layout.data,
        "MAX_SEQUENCES": max(1, math.floor(candidate.concurrency)),
    }
    return {name: str(figure) for name, figure in figures.items()}
