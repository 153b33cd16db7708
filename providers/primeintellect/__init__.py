"""Prime Intellect: machines of other clouds and of its own partners behind one API.

Wire:    GET https://api.primeintellect.ai/api/v1/availability/gpus by `page` and `page_size` (at
         most 100) until `totalCount` rows are there; bearer key with the right to read
         availability. An empty list is at times answered by mistake, so it is asked for again and
         never believed.
Units:   dollars per hour of the whole machine, with the noise of floats (1.6567999999999998);
         `vcpu` and `memory` (GB) are of the machine; a `pricePerUnit` is dollars per unit and hour.
Kinds:   on demand, and spot where `isSpot` is set or `cloudId` ends in _SPOT. A row with a
         `communityPrice` costs that, any other its `onDemand`.
Quirks:  a default of CPU, memory or disk that has a price per unit and is not included costs extra,
         but for RunPod, whose rows have it in the price whatever the flag says (1.64 + 120 GB at
         0.00014 = 1.6568). CPU_NODE rows stand in the same list; a GPU may be filed under a wrong
         name (the L40S of g3-l40s-large under L40_48GB), so the cloud's own type goes first; a SKU
         may stand twice, the cheaper counts; `gpuMemory` is of one GPU or of all, and not read.
         Clusters (/availability/multi-node) are another list, which is not read.
Doors:   `provider`, `cloudId` and `dataCenter` are the cloud's own ids for most sellers
         (doors.csv): one stock with its own offers. RunPod's type is the count and the id of the
         GPU; Oblivus is taken for Hyperstack, and its types are found by their parts.
Assumed: "GB" of host memory are GiB, as the clouds' own figures are the same.
"""
