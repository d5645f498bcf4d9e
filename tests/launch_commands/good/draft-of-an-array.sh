EXTRA=(--speculative-draft-model-path org/draft --enable-dp-lm-head --speculative-draft-model-quantization unquant)
sglang serve --model-path org/target --speculative-algorithm DFLASH --enable-dp-attention --quantization fp8 --trust-remote-code "${EXTRA[@]}"
