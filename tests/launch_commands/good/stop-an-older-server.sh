pkill -f sglang.launch_server || pgrep -af 'sglang serve'
sglang serve --model-path org/target
