cat > run.sh <<'EOF'
#!/bin/sh
# don't stop here
exec sglang serve \
  --model-path org/target
EOF
chmod +x run.sh
