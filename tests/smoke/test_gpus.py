"""What is said of GPUs: of made-up readings here, and of the real ones where there are some."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from zoo.smoke.gpus import Gpu, Gpus, GpusUnknownError, chosen, lost, preflight, read_gpus

GIB = 1024**3
IDLE = Gpu(0, "NVIDIA H200", "GPU-11111111-aaaa", 140 * GIB, 139 * GIB, ())


def machine(count: int = 8, **changes: object) -> Gpus:
    made = [
        replace(IDLE, index=index, uuid=f"GPU-{index}{'0' * 7}-aaaa", **changes) for index in range(count)
    ]  # type: ignore[arg-type]
    return Gpus("580.95.05", tuple(made))


def test_eight_idle_gpus_of_the_profile_are_no_problem() -> None:
    assert preflight(machine(), count=8, name="H200") == ()


def test_fewer_gpus_than_the_profile_needs_are_one() -> None:
    (problem,) = preflight(machine(4), count=8, name="H200")
    assert problem.startswith("8 GPUs are needed and 4 are visible")


def test_the_name_of_a_profile_is_a_word_of_the_name_of_the_gpu() -> None:
    found = machine(1, name="NVIDIA A100-SXM4-80GB")
    assert preflight(found, count=1, name="A100") == ()
    assert preflight(found, count=1, name="A10") != ()


@pytest.mark.parametrize("name", ["H20", "B200", "H100"])
def test_another_gpu_is_one(name: str) -> None:
    (problem,) = preflight(machine(1), count=1, name=name)
    assert problem == f"the profile is for {name}, and here is NVIDIA H200"


def test_a_foreign_process_is_one_unless_it_may_share() -> None:
    (problem,) = preflight(machine(1, pids=(4711,)), count=1, name="H200")
    assert problem.startswith("GPU 0 is used by process 4711: ")
    assert "--share-gpus" in problem
    assert preflight(machine(1, pids=(4711,)), count=1, name="H200", share=True) == ()


def test_memory_of_a_process_that_cannot_be_seen_is_one() -> None:
    (problem,) = preflight(machine(1, free=100 * GIB), count=1, name="H200")
    assert problem.startswith("GPU 0 has 40.0 of 140.0 GiB in use by a process that cannot be seen from here")


def test_a_busy_gpu_beyond_those_that_are_used_is_none() -> None:
    two = machine(2)
    busy = Gpus(two.driver, (two.gpus[0], replace(two.gpus[1], pids=(1,))))
    assert preflight(busy, count=1, name="H200") == ()


def test_visible_devices_are_indices_or_uuids_in_their_order() -> None:
    gpus = machine(3).gpus
    assert chosen(gpus, None) == gpus
    assert [gpu.index for gpu in chosen(gpus, "2, 0")] == [2, 0]
    assert [gpu.index for gpu in chosen(gpus, "GPU-10000000-aaaa")] == [1]
    assert chosen(gpus, "") == ()
    for wrong in ("9", "MIG-1", "GPU-", "-1"):
        with pytest.raises(GpusUnknownError, match="which is no GPU of this machine"):
            chosen(gpus, wrong)


def test_memory_that_did_not_come_back_is_named() -> None:
    before = machine(2)
    after = Gpus(before.driver, (before.gpus[0], replace(before.gpus[1], free=100 * GIB)))
    assert lost(before, before) == []
    assert lost(before, after) == ["GPU 1 has 39.0 GiB less free than before the start"]


def test_without_nvidia_ml_py_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pynvml'] = None\n"
        "from zoo.smoke.gpus import GpusUnknownError, read_gpus\n"
        "try: read_gpus()\n"
        "except GpusUnknownError as error: print(error.message, error.hint)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "nvidia-ml-py is not installed" in ran.stdout
    assert "draft-zoo[serve]" in ran.stdout


def test_a_machine_without_a_driver_is_not_known() -> None:
    pynvml = pytest.importorskip("pynvml")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        with pytest.raises(GpusUnknownError, match="the GPUs cannot be looked at"):
            read_gpus()
    else:
        pytest.skip("this machine has one")


@pytest.mark.gpu
def test_the_gpus_of_this_machine_are_read() -> None:
    found = read_gpus()
    assert found.driver[0].isdigit()
    for gpu in found.gpus:
        assert 0 < gpu.free <= gpu.total
        assert gpu.uuid.startswith("GPU-")
