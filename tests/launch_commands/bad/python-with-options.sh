/opt/venv/bin/python3.11 -u -X dev -m sglang.launch_server --model-path org/target --no-such-flag
python -msglang.launch_server --model-path org/target --no-such-flag
torchrun --nproc-per-node 2 -m sglang.launch_server --model-path org/target --no-such-flag
$PYTHON -um vllm.entrypoints.openai.api_server --model org/target --no-such-flag
