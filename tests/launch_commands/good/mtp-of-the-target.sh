sglang serve --model-path org/target --speculative-algorithm EAGLE --max-running-requests 32
