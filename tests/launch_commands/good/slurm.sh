#!/bin/bash
#SBATCH --nodes=1 --gpus=8   # it's one node
export NCCL_DEBUG=WARN
PORT=30000
srun --ntasks=1 \
    env SGLANG_LOG_LEVEL=info \
    python -m sglang.launch_server --model-path "$MODEL" --port 30000 > server.log 2>&1 &
wait
