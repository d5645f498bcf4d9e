sglang serve --model-path org/target
eval "python -m sglang.launch_server --model-path org/target --no-such-flag"
