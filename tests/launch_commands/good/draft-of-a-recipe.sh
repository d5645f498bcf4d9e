sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft --speculative-num-draft-tokens 8 --tp-size 2
