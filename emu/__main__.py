from emu.cli.main import main

main()
