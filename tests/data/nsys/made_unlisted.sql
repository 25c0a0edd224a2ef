-- A capture of programs that number their GPUs differently, and of two more whose GPUs are unknown.
-- sqlite3 made_unlisted.sqlite < made_unlisted.sql
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, smCount INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, globalPid INTEGER,
    demangledName INTEGER
);
INSERT INTO StringIds VALUES (1, 'gemm_kernel');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA T400 4GB', 6), (1, 'NVIDIA H100 80GB HBM3', 132);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 0, 200);
-- Program 400 is not listed, and one row does not name its program.
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (1000, 2000, 0, 1, 7, 281481687597056, 1), (1000, 3000, 0, 1, 7, NULL, 1), (1000, 4000, 0, 1, 7, 281478332153856, 1);
