sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft --quantization modelopt_fp4 --speculative-draft-model-quantization unquant
