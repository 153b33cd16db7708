"""Verda (formerly DataCrunch): instances on demand, on spot and on long terms.

Wire:    GET https://api.verda.com/v1/instance-types?currency=usd has types and prices and needs no
         key; /instance-availability?is_spot=false and =true say where a type can be started now,
         /long-term/periods/instances the discounts of long terms. These three may need a token:
         POST /oauth2/token with client id and secret gives one for an hour. Bare arrays, no pages.
Units:   decimal strings per hour of the whole instance in the currency named beside them;
         `gpu_memory` is of all GPUs together; a term's discount is in percent of the fixed price.
Kinds:   on demand, spot, and reserved for each period that is sold: the fixed price less the
         discount, for all hours of the term, paid in advance.
Quirks:  CPU types have no GPUs and no description; names vary in their blanks; types that end in
         .CC (confidential computing) are a tier of their own; a type without a spot price has none.
         The dynamic and serverless prices are other products, and clusters have no public price.
         Without the list of places the offers of that kind have no region: shown, never planned.
Assumed: host memory in "gigabytes" is GiB; a long term can be had where on demand can.
"""
