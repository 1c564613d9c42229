"""An agent in a process of its own: any language, any environment. Here the process is agent_process.py beside it.

meco challenge piped.py --quick
"""

import sys
from pathlib import Path

command = [sys.executable, str(Path(__file__).with_name("agent_process.py"))]
