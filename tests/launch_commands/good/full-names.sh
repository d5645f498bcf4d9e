python3 -m sglang.launch_server --model-path org/target --tp-size 8 --speculative-algorithm DFLASH --speculative-draft-model-path org/draft --max-running-requests 32
