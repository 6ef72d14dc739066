"""MSSCpy's whole analysis over its own range of scales. Prints seconds and the number of scales and regions."""

import json
import sys
import time
import warnings

import numpy as np
from MSSCpy import MSSC

warnings.filterwarnings("ignore")
request = json.load(sys.stdin)
X = np.load(request["X"])
taken = []
for _ in range(request["rounds"]):
    model = MSSC(standardize=False)
    begin = time.perf_counter()
    model.fit(X)
    taken.append(time.perf_counter() - begin)
result = model.result_
print(json.dumps({"seconds": taken, "scales": len(result.sigmas), "regions": len(result.regions)}))
