"""Random tiny cases in which gangs and replicas share a machine of which nodes are owned."""

import random

from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case

_GANGS = (1, 2, 3)


def gang_case(seed: int) -> Case:
    """Draw a case of two machines, the first with owned nodes, a service and one or two runs."""
    draw = random.Random(seed)  # noqa: S311 - instances, not secrets
    boxes = [
        offer(f"{draw.uniform(2, 6):.2f}", name=f"m{number}", gpus=draw.choice([1, 2]))
        for number in range(2)
    ]
    runs = ["tune", "eval"][: draw.choice((1, 2))]
    peak = draw.uniform(1, 4)
    return case(
        workloads(
            services=[service_entry(peak * draw.uniform(0.3, 1), peak)],
            training=[
                run_entry(draw.uniform(6, 14) * 3600, name=run, restartable=draw.random() < 0.5)
                for run in runs
            ],
            slot="4 h",
            policy={"max_groups": 1},
        ),
        boxes,
        serving=[serving(box, [draw.uniform(0.8, 2)]) for box in boxes],
        training=[
            training(box, run=run, nodes=nodes, tokens_per_s=nodes * draw.uniform(0.4, 0.7))
            for box in boxes
            for run in runs
            for nodes in draw.sample(_GANGS, 2)
        ],
        owned=[(boxes[0], draw.choice((1, 2)))],
    )
