docker run -itd --rm --gpus all --shm-size 32g -p30000:30000 --ipc=host -e HF_TOKEN \
  -v ~/.cache/huggingface:/root/.cache/huggingface \
  lmsysorg/sglang:v0.5.14-cu130 \
  python3 -m sglang.launch_server --model-path org/target --host 0.0.0.0 --port 30000
