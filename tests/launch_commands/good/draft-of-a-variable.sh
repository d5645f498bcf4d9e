ARGS="--speculative-draft-model-path org/draft"
python -m sglang.launch_server --model-path org/target $ARGS --speculative-algorithm DFLASH
