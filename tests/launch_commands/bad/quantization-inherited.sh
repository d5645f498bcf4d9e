sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft \
  --quantization modelopt_fp4
