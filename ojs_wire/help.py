"""The help of commands, formatted for terminals."""

import argparse
import shutil


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help for a terminal of up to 100 columns, each option in few lines."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size().columns, 102) - 2
        super().__init__(prog, max_help_position=38, width=width)
