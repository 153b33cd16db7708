"""Files of benchmarks: shaped like those that the clients write, with figures of our own."""

import json

import pytest

from broker.domain.errors import ConfigurationError
from broker.planning.measured.plain import write_plain
from broker.planning.measured.raw import RawServing
from broker.planning.measured.reading import read_text

VLLM = {
    "date": "20260301-101500",
    "endpoint_type": "vllm",
    "backend": "vllm",
    "label": None,
    "model_id": "meta-llama/Llama-3.1-70B-Instruct",
    "tokenizer_id": "meta-llama/Llama-3.1-70B-Instruct",
    "num_prompts": 320,
    "tensor_parallel_size": "2",
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 32,
    "duration": 300.0,
    "completed": 320,
    "total_input_tokens": 320000,
    "total_output_tokens": 96000,
    "request_throughput": 1.0667,
    "output_throughput": 320.0,
    "total_token_throughput": 1386.7,
    "mean_ttft_ms": 250.0,
    "median_ttft_ms": 240.0,
    "p99_ttft_ms": 900.0,
    "mean_tpot_ms": 30.0,
    "mean_itl_ms": 29.0,
}
SGLANG = {
    "backend": "sglang",
    "dataset_name": "random",
    "request_rate": 4.0,
    "max_concurrency": None,
    "duration": 100.0,
    "completed": 400,
    "total_input_tokens": 409600,
    "total_output_tokens": 204800,
    "total_output_tokens_retokenized": 204700,
    "request_throughput": 4.0,
    "output_throughput": 2048.0,
    "mean_ttft_ms": 120.0,
    "mean_tpot_ms": 12.0,
    "concurrency": 25.0,
    "server_info": {"model_path": "Qwen/Qwen3-32B", "tp_size": 4, "quantization": "fp8"},
}
GUIDELLM = {
    "args": {"target": "http://localhost:8000", "model": "meta-llama/Llama-3.1-8B"},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "concurrent", "streams": 8}},
            "metrics": {
                "request_totals": {"successful": 80, "errored": 20, "incomplete": 0, "total": 100},
                "requests_per_second": {"successful": {"mean": 7.5}},
                "prompt_token_count": {"successful": {"mean": 1000.0}},
                "output_token_count": {"successful": {"mean": 128.0}},
                "time_to_first_token_ms": {"successful": {"mean": 45.0}},
                "time_per_output_token_ms": {"successful": {"mean": 8.3}},
                "inter_token_latency_ms": {"successful": {"mean": 8.0}},
                "output_tokens_per_second": {"successful": {"mean": 960.0}},
            },
        },
        {
            "config": {"strategy": {"type_": "constant", "rate": 2.0}},
            "metrics": {
                "requests_per_second": {"successful": {"mean": 2.0}},
                "prompt_token_count": {"successful": {"mean": 1000.0}},
                "output_token_count": {"successful": {"mean": 101.0}},
                "time_to_first_token_ms": {"successful": {"mean": 50.0}},
                "inter_token_latency_ms": {"successful": {"mean": 9.5}},
            },
        },
    ],
}
GENAI_PERF = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),"1,100.00",250.00,"3,500.00","3,450.00","3,350.00",1,1,1,1
Inter Token Latency (ms),30.00,27.59,35.60,35.23,33.88,32.53,31.05,30.13,29.04
Output Sequence Length (tokens),201.00,164,210,210,210,210,201,201,200
Input Sequence Length (tokens),"3,000.00","2,999.00","3,001.00",1,1,1,1,1,1

Metric,Value
Output Token Throughput (per sec),301.50
Request Throughput (per sec),1.50
Request Count (count),40.00
"""
AIPERF = """Metric,avg,min,max,p1,p5,p99,std
Inter Token Latency (ms),2.80,2.78,2.91,2.78,2.78,2.91,0.01
Output Sequence Length (tokens),500.00,410,501,410,420,501,9
Time to First Token (ms),50.00,17.15,99.91,17.2,18,99,9

Metric,Value
Output Token Throughput (tokens/sec),340.00
Request Throughput (requests/sec),0.68

Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min,max
localhost,0,H100,GPU-1,GPU Power (W),600,1,700
"""


def one(text: str) -> RawServing:
    (point,) = read_text(text, "file").serving
    return point


def test_a_run_of_vllm_gives_means_a_request_and_the_clients() -> None:
    point = one(json.dumps(VLLM))
    assert read_text(json.dumps(VLLM), "file").format == "vLLM bench serve"
    assert (point.model, point.engine, point.gpus) == (VLLM["model_id"], "vllm", 2)
    assert (point.input_tokens, point.output_tokens, point.concurrency) == (1000, 300, 32)
    assert (point.tpot_s, point.ttft_s, point.tokens_per_s) == (0.03, 0.25, 320.0)


def test_runs_appended_to_one_file_are_all_read() -> None:
    text = f"{json.dumps(VLLM)}\n{json.dumps(VLLM | {'max_concurrency': 64})}"
    assert [run.concurrency for run in read_text(text, "file").serving] == [32, 64]


def test_without_clients_littles_law_tells_how_many_are_in_flight() -> None:
    """1.0667 requests/s × (0.25 + 299 × 0.03) s = 9.84."""
    assert one(json.dumps(VLLM | {"max_concurrency": None})).concurrency == pytest.approx(
        9.84, 0.01
    )


def test_a_run_of_sglang_says_its_server() -> None:
    point = one(json.dumps(SGLANG))
    assert read_text(json.dumps(SGLANG), "file").format == "SGLang bench_serving"
    assert (point.model, point.gpus, point.precision) == ("Qwen/Qwen3-32B", 4, "fp8")
    assert (point.engine, point.concurrency, point.output_tokens) == ("sglang", 25.0, 512)


def test_requests_that_failed_are_counted() -> None:
    assert one(json.dumps(VLLM | {"completed": 240})).failed_share == 0.25


def test_guidellm_times_a_token_without_the_first() -> None:
    """Its `time_per_output_token_ms` counts the first one in."""
    first, second = read_text(json.dumps(GUIDELLM), "file").serving
    assert (first.tpot_s, first.concurrency, first.failed_share) == (0.008, 8, 0.2)
    assert first.model == "meta-llama/Llama-3.1-8B"
    assert second.concurrency == pytest.approx(2 * (0.05 + 100 * 0.0095))


def test_the_csv_of_genai_perf_has_thousands_with_commas() -> None:
    point = one(GENAI_PERF)
    assert (point.ttft_s, point.tpot_s, point.input_tokens) == (1.1, 0.03, 3000)
    assert point.tokens_per_s == 301.5
    assert point.concurrency == pytest.approx(1.5 * (1.1 + 200 * 0.03))


def test_the_csv_of_aiperf_ends_before_its_telemetry() -> None:
    point = one(AIPERF)
    assert (point.ttft_s, point.tpot_s, point.output_tokens) == (0.05, 0.0028, 500)
    assert point.input_tokens is None


def test_a_plain_csv_has_serving_and_training() -> None:
    text = (
        "model,gpu,gpus,engine,precision,input_tokens,output_tokens,concurrency,tpot_ms,"
        "sequence_length,global_batch_tokens,tokens_per_s\n"
        "llama-3.1-8b,L40S,1,vllm,bf16,1000,200,8,21.5,,,\n"
        "llama-3.1-8b,H100-SXM,8,,bf16,,,,,4096,1048576,98000\n"
    )
    found = read_text(text, "file")
    assert found.serving[0].tpot_s == 0.0215
    assert (found.training[0].sequence_length, found.training[0].tokens_per_s) == (4096, 98000)
    assert write_plain((), ()).startswith("kind,model,gpu,")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "neither JSON nor a CSV"),
        ('{"a": 1}', r"with the keys \[\"a\"\]"),
        ('{"completed": 5,\n"total', "no JSON at line 2"),
        (json.dumps(VLLM | {"completed": 0}), "run 1: completed"),
        ("model,gpu,tpot_ms\nx,y,fast", "line 2: tpot_ms: 'fast' is no positive number"),
        ("model,gpus,tpot_ms\nx,0.4,20", "line 2: gpus: 0.4 is less than one"),
        ("model,gpu,tpot_ms\nx,y,-1", "line 2: tpot_ms"),
        ("model,gpu,tpot_ms,color\n", "no column is called 'color'"),
        ("Metric,avg\nRequest Count,5\n", "neither Inter Token Latency"),
        ("Metric,avg\nInter Token Latency (ms),n/a\n", "line 2: 'n/a' is no number"),
        ("[" * 100_000, "the JSON from line 1 is too long or deep"),
        ('{"completed": ' + "9" * 5000 + "}", "the JSON from line 1 is too long or deep"),
        (f"model,gpu,tpot_ms\n{'x' * 200_000},y,1\n", "this is no CSV"),
        (f"Metric,avg\n{'x' * 200_000},1\nInter Token Latency (ms),1\n", "this is no CSV"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_text(text, "file")
    assert "vllm bench serve" in caught.value.hint
