"""How a run of the plan is started: what its script is told, and `torchrun` around it.

The training script is the user's: no file of ours trains. It is named in TRAIN_SCRIPT, and told
in the environment what sizing counted with.
"""

import math

from broker.domain.llm import LlmModel
from broker.domain.plan import TrainingAssignment
from broker.domain.workload import Method, TrainingRun
from broker.specs.load import Specs

CUDA_IMAGE = "nvcr.io/nvidia/pytorch:25.06-py3"
ROCM_IMAGE = "rocm/pytorch:latest"
MASTER_PORT = 29500

_IMAGE_GB = 100
_DISK_STEP_GB = 10
_BYTES_16_BIT = 2
_BYTES_OF_STATES = 14
"""Of a checkpoint of mixed-precision Adam: weights in 16 bits, master weights and two moments."""

_CHECKPOINTS = 2
"""On disk at once: the last one, and the one being written."""


def environment(assignment: TrainingAssignment, run: TrainingRun, specs: Specs) -> dict[str, str]:
    """Tell the script what the plan rests on; all values are text."""
    layout, model = assignment.candidate.layout, specs.llm(run.model)
    gpu = specs.gpu(assignment.candidate.shape.gpu)
    figures: dict[str, object] = {
        "TRAIN_SCRIPT": "",
        "TRAIN_ARGS": "",
        "MODEL_ID": run.model if "/" in run.model else model.hf_id,
        "METHOD": run.method.value,
        "PRECISION": run.computed_in(gpu).value,
        "TOKENS": int(assignment.tokens),
        "SEQUENCE_LENGTH": run.sequence_length,
        "GLOBAL_BATCH_TOKENS": run.global_batch_tokens,
        "MICRO_BATCH": layout.micro_batch,
        "TENSOR_PARALLEL": layout.tensor,
        "PIPELINE_PARALLEL": layout.pipeline,
        "VIRTUAL_STAGES": layout.virtual_stages,
        "CONTEXT_PARALLEL": layout.context,
        "EXPERT_PARALLEL": layout.expert,
        "DATA_PARALLEL": layout.data,
        "ZERO_STAGE": layout.zero_stage,
        "RECOMPUTATION": int(layout.recomputation),
        "SELECTIVE_RECOMPUTATION": int(layout.selective),
    }
    return {name: str(figure) for name, figure in figures.items()}


def disk_gb(run: TrainingRun, model: LlmModel) -> int:
    """Give the GB of disk of the first node: image, base weights, and two checkpoints.

    A full checkpoint has 14 bytes a parameter; adapters of LoRA are small. Data is not counted: it
    is read from where it lies.
    """
    weights_gb = _BYTES_16_BIT * model.params_b
    states_gb = _BYTES_OF_STATES * model.params_b if run.method is Method.FULL else 0.0
    total_gb = _IMAGE_GB + weights_gb + _CHECKPOINTS * states_gb
    return math.ceil(total_gb / _DISK_STEP_GB) * _DISK_STEP_GB
