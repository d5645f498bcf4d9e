python -m sglang.launch_server --model-path org/target \
  --speculative-dflash-blocksize 8
