sglang serve --model-path org/target --speculative-algorithm NGRAM --max-running-requests 32
