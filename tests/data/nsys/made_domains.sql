-- A capture with NVTX domains, and with operators as `torch.autograd.profiler.emit_nvtx` names them.
-- sqlite3 made_domains.sqlite < made_domains.sql
-- The names of domains and categories come last, on other pages than the ranges.
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, -- Event start timestamp (ns).
    end INTEGER,
    eventType INTEGER NOT NULL, -- 33 category, 34 mark, 59 push/pop, 75 domain
    category INTEGER,
    text TEXT,
    globalTid INTEGER,
    endGlobalTid INTEGER,
    textId INTEGER REFERENCES StringIds(id),
    domainId INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER
);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm_kernel'), (3, 'ncclAllReduce'), (4, 'CCCL');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.5.2'), ('EXPORT_SCHEMA_VERSION', '3.24.0');
-- Process 100: operators, and a range of NCCL that outlasts the one it starts in.
INSERT INTO NVTX_EVENTS (start, end, eventType, category, text, globalTid, textId, domainId) VALUES
    (950, 2100, 59, NULL, 'step 1, op_id = 10', 72057595715649636, NULL, 0),
    (1000, 2000, 59, NULL, 'aten::addmm, seq = 5, op_id = 11, sizes = [[8], [8, 8], [8, 8]]', 72057595715649636, NULL, 0),
    (1200, 1800, 59, NULL, 'aten::mm, op_id = 12', 72057595715649636, NULL, 0),
    (2900, 4700, 59, NULL, 'step 2, op_id = 20', 72057595715649636, NULL, 0),
    (3000, 4000, 59, NULL, 'aten::addmm, seq = 6, op_id = 13', 72057595715649636, NULL, 0),
    (3500, 4500, 59, 7, NULL, 72057595715649636, 3, 1),
    (5000, 5100, 59, 7, 'a category without a name', 72057595715649636, NULL, 0),
    (5200, 5300, 59, NULL, 'a domain without a name', 72057595715649636, NULL, 3),
    (5400, 5500, 59, NULL, 'nccl:all_reduce, op_id = 14', 72057595715649636, NULL, 0),
    (5600, NULL, 34, NULL, 'a mark', 72057595715649636, NULL, 1),
-- Process 200: the same number is another domain.
    (1000, 1500, 59, NULL, 'sort', 72057597393371336, NULL, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1300, 1400, 72057595715649636, 1, 1, 0), (3300, 3400, 72057595715649636, 2, 1, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (1500, 2500, 0, 1, 7, 1, 72057595715649536, 2, 2), (3500, 4200, 0, 1, 7, 2, 72057595715649536, 2, 2);
INSERT INTO NVTX_EVENTS (start, end, eventType, category, text, globalTid, textId, domainId) VALUES
    (900, NULL, 75, NULL, 'NCCL', 72057595715649636, NULL, 1),
    (900, NULL, 75, NULL, NULL, 72057597393371336, 4, 1),
    (900, NULL, 33, 7, 'collectives', 72057595715649636, NULL, 1);
