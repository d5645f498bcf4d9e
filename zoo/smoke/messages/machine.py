"""What ends a server and says nothing about the draft: memory, ports, disks, drivers. And what wraps another
error."""

from __future__ import annotations

from zoo.smoke.messages.model import Known

MACHINE = (
    Known(
        "engine-missing",
        r"Error while finding module specification for '(sglang|vllm)\b|No module named '?(sglang|vllm)\b",
        "the interpreter of the launch command has no such engine",
        "name the one that has it: --python /path/to/venv/bin/python",
        "CPython, runpy.py",
        "machine",
    ),
    Known(
        "rendezvous-in-use",
        r"DistNetworkError: .*(EADDRINUSE|address already in use)|"
        r"The server socket has failed to listen on any local network address.*EADDRINUSE",
        "the port on which the engine's own ranks meet was taken by another process",
        "start again; where several servers start at once, one after the other",
        "torch 2.11, csrc/distributed/c10d/socket.cpp; seen",
        "machine",
    ),
    Known(
        "address-in-use",
        r"error while attempting to bind on address .*[Aa]ddress already in use|"
        r"OSError: \[Errno (98|48)\]|Port is already in use\. dist_init_port=",
        "a port of the server is in use",
        "leave --port out, and a free one is taken",
        "CPython, asyncio/base_events.py; sglang 0.5.14 and 0.5.23, server_args.py",
        "machine",
    ),
    Known(
        "no-space",
        r"No space left on device|\[Errno 28\]|Disk quota exceeded",
        "no space is left on a disk",
        "free some space; shared memory counts too: df -h /dev/shm (docker run --shm-size)",
        "CPython, errno ENOSPC and EDQUOT",
        "machine",
    ),
    Known(
        "shared-memory",
        r"received bus error|insufficient shared memory \(shm\)|Error while creating shared memory segment",
        "shared memory is full",
        "give the container more: docker run --shm-size 32g (or --ipc host)",
        "torch 2.11, utils/data/_utils/signal_handling.py; NCCL 2.28, src/misc/shmutils.cc",
        "machine",
    ),
    Known(
        "gpu-memory",
        r"CUDA out of memory\. Tried to allocate|CUDA error: out of memory",
        "the GPU ran out of memory",
        "see who uses it (nvidia-smi), lower --mem-fraction-static or the context length, or take more GPUs",
        "torch 2.11, c10/cuda/CUDACachingAllocator.cpp",
        "machine",
    ),
    Known(
        "no-memory-for-cache",
        r"Not enough memory\. Please try to increase --mem-fraction-static|"
        r"Loaded weights leave no GPU memory for the KV cache|"
        r"No available memory for the cache blocks|larger than the available KV cache|"
        r"Free memory on device .* is less than desired GPU memory utilization",
        "the weights leave no GPU memory for a KV cache",
        "see who else uses the GPU (nvidia-smi), raise --mem-fraction-static, or take more GPUs",
        "sglang 0.5.14 and 0.5.23, pool_configurator.py; vllm 0.33.0, kv_cache_planning.py",
        "machine",
    ),
    Known(
        "memory-unbalanced",
        r"The memory capacity is unbalanced\. Some GPUs may be occupied by other processes",
        "some of the GPUs have less free memory than others: another process uses them",
        "end what runs there (nvidia-smi), or choose other GPUs with CUDA_VISIBLE_DEVICES",
        "sglang 0.5.14, model_executor/model_runner.py",
        "machine",
    ),
    Known(
        "host-memory",
        r"scheduler died during initialization \(exit code: -9\)|"
        r"Subprocess .{1,80} crashed with exit code -9\b|DefaultCPUAllocator: can't allocate memory|"
        r"OSError: \[Errno 12\]",
        "a process of the engine was killed, as the kernel does when the host's memory is used up",
        "check dmesg -T | grep -i oom; give the job more memory, or end what else uses it",
        "sglang 0.5.14 and 0.5.23, entrypoints/engine.py and utils/watchdog.py",
        "machine",
    ),
    Known(
        "driver-too-old",
        r"The NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime",
        "the NVIDIA driver is too old for this build of torch",
        "update the driver, or install the engine for the CUDA version that nvidia-smi shows",
        "torch 2.11, torch/csrc/utils/device_lazy_init.cpp and c10/cuda",
        "machine",
    ),
    Known(
        "no-gpu",
        r"No CUDA GPUs are available|no CUDA-capable device is detected|CUDA error: invalid device ordinal",
        "the engine sees no GPU, or fewer than the command asks for",
        "check CUDA_VISIBLE_DEVICES and nvidia-smi -L (docker run --gpus all)",
        "torch 2.11, cuda/__init__.py",
        "machine",
    ),
    Known(
        "kernel-image",
        r"CUDA error: no kernel image is available for execution on the device",
        "a kernel was not built for this GPU",
        "take the wheels of the engine for this GPU's compute capability",
        "CUDA runtime, cudaErrorNoKernelImageForDevice",
        "machine",
    ),
    Known(
        "gpu-fault",
        r"CUDA error: an illegal memory access was encountered|CUDA error: device-side assert triggered|"
        r"CUDA error: uncorrectable ECC error",
        "a kernel failed on the GPU",
        "run it again; if it repeats, with CUDA_LAUNCH_BLOCKING=1 to see which; dmesg shows faults (Xid)",
        "CUDA runtime, cudaError_t",
        "engine",
    ),
    Known(
        "nccl-timeout",
        r"Watchdog caught collective operation timeout|NCCL operation .* timed out|ncclRemoteError|"
        r"DistBackendError: NCCL error",
        "the GPUs lost each other (NCCL)",
        "see which rank failed first in the log; NCCL_DEBUG=INFO in the profile's environment tells more",
        "torch 2.11, csrc/distributed/c10d/ProcessGroupNCCL.cpp",
        "machine",
    ),
    Known(
        "watchdog",
        r"watchdog timeout \(self\.watchdog_timeout=",
        "a forward pass did not come back within the engine's watchdog",
        "see what the stacks above it in the log wait for; --watchdog-timeout allows more",
        "sglang 0.5.14 and 0.5.23, utils/watchdog.py",
        "engine",
    ),
    Known(
        "no-such-model",
        r"is not a local folder and is not a valid model identifier|"
        r"^(huggingface_hub\.errors\.)?(RepositoryNotFound|GatedRepo|LocalEntryNotFound)Error: |"
        r"^(huggingface_hub\.errors\.)?OfflineModeIsEnabled: ",
        "a model is neither a folder here nor a repository that may be read",
        "check the paths of the command, HF_HUB_OFFLINE, and the token of this machine (hf auth whoami)",
        "transformers 5.8.1, utils/hub.py; huggingface_hub 2.4.0, errors.py",
        "machine",
    ),
    Known(
        "health-check",
        r"Health check failed\. Server couldn't get a response from detokenizer",
        "the server stopped answering",
        "see what the log says before; SGLANG_HEALTH_CHECK_TIMEOUT allows more than 20 s",
        "sglang 0.5.14 and 0.5.23, entrypoints/http_server.py",
        "engine",
    ),
    Known(
        "graph-capture",
        r"Capture cuda graph failed: ",
        "a CUDA graph could not be captured",
        "read the error behind the message; out of memory: lower --mem-fraction-static",
        "sglang 0.5.14, model_executor/runner/decode_cuda_graph_runner.py",
        "machine",
    ),
)
# What wraps another error.
WRAPS = (
    Known(
        "warm-up",
        r"Initialization failed\. warmup error",
        "the server started, and its first request failed",
        "read the traceback in the log",
        "sglang 0.5.14 and 0.5.23, entrypoints/http_server.py",
        "engine",
    ),
    Known(
        "child-crashed",
        r"Subprocess .{1,80} crashed with exit code (?!-9\b)|"
        r"scheduler died during initialization \(exit code: (?!-9\))|"
        r"Engine core initialization failed|EngineCore (failed to start|encountered a fatal error)",
        "a process of the engine died",
        "read the log before that line",
        "sglang 0.5.14 and 0.5.23, utils/watchdog.py, entrypoints/engine.py; vllm 0.33.0, v1/engine/core.py",
        "engine",
    ),
)
