import re
from collections.abc import Iterator

import pytest
from export_plans import Parts, at, bought, machine, plan, served

from broker.domain.gpu import Precision, Stack
from broker.domain.offer import Block as Window
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import BookedBlock, Plan
from broker.exports.hcl import Block, Expression, hcl_text
from broker.exports.lines import lines
from broker.exports.terraform import export, resources
from broker.specs.tables import read_table, text

AWS = "aws/p5.48xlarge/us-east-1"
AZURE = "azure/Standard_ND96isr_H100_v5/eastus"
GCP = "gcp/a3-highgpu-8g/us-central1"
FOR_MONEY = (
    "aws_ec2_capacity_reservation",
    "aws_ec2_capacity_block_reservation",
    "azurerm_capacity_reservation_group",
    "azurerm_capacity_reservation",
    "google_compute_reservation",
    "google_compute_region_commitment",
)


def sized(of: Offer) -> Offer:
    hardware = of.hardware.model_copy(update={"vcpus": 208.0, "host_memory_gib": 1872.0})
    return of.model_copy(update={"hardware": hardware})


@pytest.fixture(scope="module")
def sample() -> Plan:
    """A line of each kind on each cloud, one with a gap, and one of another provider.

    Nodes by the hour carry one workload alone.
    """
    kinds = (PriceKind.ON_DEMAND, PriceKind.SPOT, PriceKind.RESERVED, PriceKind.OWNED)
    offers = [sized(machine(key, kind=kind)) for key in (AWS, AZURE, GCP) for kind in kinds]
    block = machine(AWS, kind=PriceKind.CAPACITY_BLOCK, block=Window(lengths_h=(24,)))
    other = machine("lambda/gpu_8x_h100/us-west-1")
    gap = machine("aws/g6e.12xlarge/us-east-1", "L40S", 4)
    held = [bought(one, (0, 24, 2), (24, 48, 3)) for one in offers]
    for number, one in enumerate(held):
        if one.price_kind is PriceKind.ON_DEMAND:
            held[number] = one.model_copy(update={"isolated_for": "chat"})
    held += [
        bought(block, (0, 24, 1)),
        bought(other, (0, 24, 1)),
        bought(gap, (0, 6, 1), (12, 18, 2)),
    ]
    return plan([*offers, block, other, gap], Parts(held))


def of_cloud(sample: Plan, cloud: str) -> tuple[Block, ...]:
    return resources([one for one in lines(sample) if one.offer.provider == cloud], cloud)


def every(sample: Plan) -> list[Block]:
    found = [one for cloud in ("aws", "azure", "gcp") for one in of_cloud(sample, cloud)]
    return [one for one in found if one.kind == "resource"]


def attributes(of: Block, path: str = "") -> Iterator[str]:
    yield from (f"{path}{name}" for name in of.attributes)
    for inner in of.blocks:
        yield f"{path}{inner.kind}"
        yield from attributes(inner, f"{path}{inner.kind}.")


def test_every_resource_and_attribute_is_documented_and_no_row_is_idle(sample: Plan) -> None:
    rows = read_table("terraform_attributes.csv")
    assert all(text(row, "documentation").startswith("https://") for row in rows)
    known = {(text(row, "resource"), text(row, "attribute")) for row in rows}
    assert len(known) == len(rows)
    assert known == {(one.labels[0], name) for one in every(sample) for name in attributes(one)}


def test_nothing_is_created_as_it_stands(sample: Plan) -> None:
    main = export(sample)[0].text
    for variable in ("commit_money", "run_nodes"):
        default = re.search(rf'variable "{variable}" {{[^}}]*default +=  *(\w+)', main)
        assert default
        assert default.group(1) == "false"
    for one in every(sample):
        count = one.attributes["count"]
        assert isinstance(count, Expression)
        variable = "commit_money" if one.labels[0] in FOR_MONEY else "run_nodes"
        assert count.text.startswith(f"var.{variable} && contains(var.lines, ")


def test_the_line_travels_as_a_tag_or_in_the_name(sample: Plan) -> None:
    labels = {one.label for one in lines(sample)}
    for one in every(sample):
        written = hcl_text([one])
        assert any(label in written.partition("{")[2] for label in labels)
    for one in every(sample):
        tagged = {"tags", "labels", "node_labels", "description"} & set(attributes(one))
        assert tagged or "node_config.labels" in set(attributes(one)), one.labels


def test_a_commitment_without_a_resource_is_a_comment_that_says_how_to_buy_it(
    sample: Plan,
) -> None:
    files = {one.name: one.text for one in export(sample)}
    assert (
        "# Commitment of 3 nodes (reserved 12 months, partial upfront): not created here."
        in (files["aws.tf"])
    )
    assert (
        "#   aws ec2 purchase-reserved-instances-offering --region us-east-1 --instance-count 3"
        in files["aws.tf"]
    )
    assert (
        "#   az reservations reservation-order calculate --sku Standard_ND96isr_H100_v5"
        in (files["azure.tf"])
    )


def test_a_gcp_commitment_covers_the_cards_processors_and_memory_of_all_nodes(
    sample: Plan,
) -> None:
    (one,) = (one for one in every(sample) if one.labels[0] == "google_compute_region_commitment")
    assert (one.attributes["plan"], one.attributes["type"]) == (
        "TWELVE_MONTH",
        "ACCELERATOR_OPTIMIZED_A3",
    )
    assert [dict(part.attributes) for part in one.blocks] == [
        {"type": "VCPU", "amount": "624"},
        {"type": "MEMORY", "amount": str(3 * 1872 * 1024)},
        {"type": "ACCELERATOR", "amount": "24", "accelerator_type": "nvidia-h100-80gb"},
    ]


def test_only_what_stands_all_the_time_is_held_and_spot_is_not(sample: Plan) -> None:
    held = [one for one in every(sample) if one.labels[0] == "aws_ec2_capacity_reservation"]
    assert {one.attributes["instance_type"] for one in held} == {"p5.48xlarge"}
    assert [one.attributes["instance_count"] for one in held] == [2, 2]
    ends = [one.attributes.get("end_date") for one in held]
    assert sorted(ends, key=str) == ["2026-12-03T00:00:00Z", None]


def test_pools_take_the_fewest_and_the_most_nodes_of_the_line(sample: Plan) -> None:
    pools = [one for one in every(sample) if one.labels[0] == "aws_eks_node_group"]
    sizes = {
        (str(one.attributes["instance_types"]), one.attributes["capacity_type"]): dict(
            one.blocks[0].attributes
        )
        for one in pools
    }
    assert sizes["['p5.48xlarge']", "SPOT"] == {"desired_size": 2, "min_size": 2, "max_size": 3}
    assert sizes["['g6e.12xlarge']", "ON_DEMAND"] == {
        "desired_size": 1,
        "min_size": 0,
        "max_size": 2,
    }


def test_names_keep_to_what_each_cloud_takes(sample: Plan) -> None:
    for one in every(sample):
        name = one.attributes.get("name")
        if one.labels[0] == "azurerm_kubernetes_cluster_node_pool":
            assert re.fullmatch(r"[a-z][a-z0-9]{0,11}", str(name))
        elif one.labels[0] == "google_container_node_pool":
            assert re.fullmatch(r"[a-z][a-z0-9-]{0,38}[a-z0-9]", str(name))
        elif name is not None:
            assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", str(name))
    names = [one.labels for one in every(sample)]
    assert len(set(names)) == len(names)


def test_a_reservation_is_bought_by_hand_with_its_own_term_and_payment(sample: Plan) -> None:
    files = {one.name: one.text for one in export(sample)}
    assert (
        "--offering-type 'Partial Upfront' --min-duration 31536000 --max-duration 31536000\n"
        in (files["aws.tf"])
    )
    assert " --term P1Y --billing-plan Monthly " in files["azure.tf"]


def test_a_block_is_found_by_its_window() -> None:
    block = machine(AWS, kind=PriceKind.CAPACITY_BLOCK, block=Window(lengths_h=(24,)))
    window = BookedBlock(starts_at=at(0), length_h=48)
    booked = bought(block, (0, 24, 3)).model_copy(update={"block": window})
    (_, aws) = export(plan([block], Parts([booked])))
    assert (
        "--instance-type p5.48xlarge --instance-count 3 --capacity-duration-hours 48 "
        "--start-date-range 2026-12-01T00:00:00Z\n" in aws.text
    )
    calendar = block.model_copy(update={"provider": "gcp"})
    same = booked.model_copy(update={"id": calendar.key, "offer": calendar.key})
    (_, gcp) = export(plan([calendar], Parts([same])))
    assert "3 nodes (capacity_block of 48 h from 2026-12-01T00:00Z): not created" in gcp.text


def test_gpus_that_are_attached_to_a_machine_are_no_part_of_its_name() -> None:
    attached = machine("gcp/n1-standard-16+nvidia-tesla-t4x2/us-central1", "T4", 2)
    (held, pool) = (
        one
        for one in resources(
            list(lines(plan([attached], Parts([bought(attached, (0, 24, 1))])))), "gcp"
        )
        if one.kind == "resource"
    )
    (properties,) = held.blocks[0].blocks
    assert properties.attributes == {"machine_type": "n1-standard-16"}
    assert [dict(one.attributes) for one in properties.blocks] == [
        {"accelerator_type": "nvidia-tesla-t4", "accelerator_count": 2}
    ]
    node = pool.blocks[1]
    assert node.attributes["machine_type"] == "n1-standard-16"
    assert [(one.kind, dict(one.attributes)) for one in node.blocks] == [
        ("guest_accelerator", {"type": "nvidia-tesla-t4", "count": 2})
    ]


def test_a_pool_of_azure_uses_the_capacity_that_is_held_for_it(sample: Plan) -> None:
    kinds = "azurerm_kubernetes_cluster_node_pool", "azurerm_capacity_reservation_group"
    pools, groups = ([one for one in every(sample) if one.labels[0] == kind] for kind in kinds)
    held = {one.labels[1] for one in groups}
    assert len(held) == 2
    for pool in pools:
        group = pool.attributes.get("capacity_reservation_group_id")
        named = f"one(azurerm_capacity_reservation_group.{pool.labels[1]}[*].id)"
        assert group == (Expression(named) if pool.labels[1] in held else None)


@pytest.mark.parametrize(
    ("stack", "cpu", "image"),
    [
        (Stack.CUDA, "x86_64", "AL2023_x86_64_NVIDIA"),
        (Stack.CUDA, "arm64", "AL2023_ARM_64_NVIDIA"),
        (Stack.NEURON, "x86_64", "AL2023_x86_64_NEURON"),
        (Stack.ROCM, "x86_64", "AL2023_x86_64_STANDARD"),
    ],
)
def test_nodes_start_with_the_driver_of_their_accelerator(
    stack: Stack, cpu: str, image: str
) -> None:
    of = machine("aws/trn1.32xlarge/us-east-1", "Trainium1", 16)
    hardware = of.hardware.model_copy(update={"stack": stack, "cpu_architecture": cpu})
    one = of.model_copy(update={"hardware": hardware})
    found = resources(list(lines(plan([one], Parts([bought(one, (0, 24, 1))])))), "aws")
    assert found[-1].attributes["ami_type"] == image


def test_lines_of_other_providers_are_named_as_left_out(sample: Plan) -> None:
    assert "# Not here: lambda/gpu_8x_h100/us-west-1@on_demand (lambda)" in export(sample)[0].text


def test_a_plan_without_these_clouds_has_no_files() -> None:
    other = machine("lambda/gpu_8x_h100/us-west-1")
    assert export(plan([other], Parts([bought(other, (0, 24, 1))]))) == ()


def test_text_cannot_become_a_template_or_leave_its_quotes() -> None:
    block = Block("variable", ('a"b',), {"description": '${file("x")} %{if} \\ "q"\nend'})
    assert hcl_text([block]) == (
        'variable "a\\"b" {\n  description = "$${file(\\"x\\")} %%{if} \\\\ \\"q\\"\\nend"\n}\n'
    )


def test_money_is_written_to_the_last_digit(sample: Plan) -> None:
    aws = next(one.text for one in export(sample) if one.name == "aws.tf")
    assert "40.000000 USD an hour and node, 4800.000000 USD in the plan" in aws


def test_blocks_are_laid_out_as_terraform_formats_them() -> None:
    inner = Block("inner", (), {"a": True, "tags": {"x": 1, "long": ["y", Expression("var.z")]}})
    assert hcl_text([Block("resource", ("t", "n"), {"count": 1, "id": "i"}, (inner,))]) == (
        'resource "t" "n" {\n'
        "  count = 1\n"
        '  id    = "i"\n'
        "\n"
        "  inner {\n"
        "    a = true\n"
        "    tags = {\n"
        '      "x"    = 1\n'
        '      "long" = ["y", var.z]\n'
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_a_block_that_is_off_is_a_comment_whole() -> None:
    block = Block("resource", ("t", "n"), {"tags": {"a": "b"}}, comments=("Why",), is_off=True)
    assert all(line.startswith("#") for line in hcl_text([block]).splitlines())


def test_a_node_has_room_for_the_weights_that_each_of_its_pods_downloads() -> None:
    """Eight GPUs of 20 GiB in 8 bits: twice that in 16 bits, a fifth more, and 100 GB of image."""

    def disk(weights_gib: float, precision: Precision) -> str:
        bought_at = machine(AWS)
        serving = served(bought_at, (0, 24, 4, 1), gpus=2, precision=precision)
        memory = serving.candidate.memory.model_copy(update={"weights_gib": weights_gib})
        candidate = serving.candidate.model_copy(update={"memory": memory})
        parts = Parts(
            [bought(bought_at, (0, 24, 1))], [serving.model_copy(update={"candidate": candidate})]
        )
        text = hcl_text(of_cloud(plan([bought_at], parts), "aws"))
        return re.findall(r"disk_size += (\d+)", text)[0]

    assert disk(1.0, Precision.BF16) == "300"
    assert disk(20.0, Precision.FP8) == "520"  # 100 + 8 × 20 × 2 × 1.074 × 1.2 = 512
    assert disk(40.0, Precision.INT4) == "520"
