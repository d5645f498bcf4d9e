docker container run lmsysorg/sglang:v0.5.14 bash -lc "pip list && \
  exec python3 -m sglang.launch_server --model-path org/target \
    --tp-size 4"
