"""The documents' own interfaces, under their names, assembled from the parts of the other rooms.

The five documents that this project grew from name classes and functions of their own. The tools use the parts
below instead; here the parts are put together as the documents ask, for whoever writes against them.

===============================================  ==========================================================
document                                         here
===============================================  ==========================================================
multi-head attention with its backward           :mod:`weft.documents.multi_head_attention`
the contract of the BCSD model                   :mod:`~weft.documents.graph_prefix`, :mod:`~weft.documents.bcs_model`,
                                                 :mod:`~weft.documents.epochs`
the encoder of GraphMERT                         :mod:`weft.documents.roberta`
the leafy chain                                  :mod:`weft.documents.leafy_chain`, :mod:`~weft.documents.tails`;
                                                 of real data by ``Dataset.chain`` of :mod:`weft.kg.represent.dataset`
the review of QACG-BERT                          :mod:`weft.documents.qacg`; its model is ``kind: qacg-official`` of
                                                 ``weft absa train``
===============================================  ==========================================================
"""
