"""Plants each bug in a process of its own, and prints its name and the error, if there was one.

python -m tests.simulation.planted
"""

import json

from tests.faulty.findable import planted
from tests.simulation.planted.registry import all_planted

print(json.dumps({each.name: planted(each) for each in all_planted()}, indent=1))
