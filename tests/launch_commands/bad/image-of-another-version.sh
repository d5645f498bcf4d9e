docker run lmsysorg/sglang:v0.5.23-cu130 \
  python3 -m sglang.launch_server --model-path org/target \
  --stream-output
