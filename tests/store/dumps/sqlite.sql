BEGIN TRANSACTION;
CREATE TABLE actions (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    via TEXT NOT NULL,
    tenant TEXT,
    address TEXT NOT NULL,
    call TEXT NOT NULL,
    target TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;
INSERT INTO actions VALUES(470775570616811521,1795866282094,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/queues/{name}/config','email','req_01a221f8-c82b-7d7d-81d8-1373477e1ce8','done');
INSERT INTO actions VALUES(470775570617073665,1795866282097,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/queues/{name}/config','limited','req_01a221f8-c82b-7d7d-81d8-1373477e1ce9','done');
INSERT INTO actions VALUES(470775570617335809,1795866282099,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/queues/{name}/pause','paused','req_01a221f8-c82b-7d7d-81d8-1373477e1cea','done');
INSERT INTO actions VALUES(470775570617597953,1795866282100,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/admin/pools/{name}','mail','req_01a221f8-c82b-7d7d-81d8-1373477e1ceb','done');
INSERT INTO actions VALUES(470775570617860097,1795866282105,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/admin/tenants/{id}','acme','req_01a221f8-c82b-7d7d-81d8-1373477e1cec','done');
INSERT INTO actions VALUES(470775570618122241,1795866282109,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/admin/routing/{type}','report.build','req_01a221f8-c82b-7d7d-81d8-1373477e1ced','done');
INSERT INTO actions VALUES(470775570618384385,1795866282177,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/schemas/{type}/{version}','email.send/2.1.0','req_01a221f8-c82b-7d7d-81d8-1373477e1cee','done');
INSERT INTO actions VALUES(470775570618646529,1795866282183,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/schemas','','req_01a221f8-c82b-7d7d-81d8-1373477e1cef','done');
INSERT INTO actions VALUES(470775570618908673,1795866282185,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/webhooks/subscriptions','','req_01a221f8-c82b-7d7d-81d8-1373477e1cf0','done');
INSERT INTO actions VALUES(470775570619170817,1795866282190,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/webhooks/subscriptions','','req_01a221f8-c82b-7d7d-81d8-1373477e1cf1','done');
INSERT INTO actions VALUES(470775570620743681,1795866282202,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','DELETE /ojs/v1/jobs/{id}','01a221f8-c8d5-7005-b813-bb4e0c50b75c','req_01a221f8-c82b-7d7d-81d8-1373477e1cf7','done');
INSERT INTO actions VALUES(470775570628083713,1795866282371,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /ojs/v1/rate-limits/{key}','sms-gateway','req_01a221f8-c82b-7d7d-81d8-1373477e1d12','done');
INSERT INTO actions VALUES(470775570628608001,1795866282384,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/cron','','req_01a221f8-c82b-7d7d-81d8-1373477e1d14','done');
INSERT INTO actions VALUES(470775570628870147,1795866282386,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/cron/{name}/trigger','daily-report','req_01a221f8-c82b-7d7d-81d8-1373477e1d15','done');
INSERT INTO actions VALUES(470775570629132289,1795866282388,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/cron','','req_01a221f8-c82b-7d7d-81d8-1373477e1d16','done');
INSERT INTO actions VALUES(470775570633064449,1795866282414,'admin-fc8f4cd5','admin','session',NULL,'127.0.0.1','POST /ojs/v1/queues/{name}/pause','held','req_01a221f8-c82b-7d7d-81d8-1373477e1d24','done');
INSERT INTO actions VALUES(470775571975766017,1795866287590,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','PUT /v1/joblib/rooms/{room}/providers','lab','req_01a221f8-ddb8-71c1-90c0-590afbffead7','done');
INSERT INTO actions VALUES(470775572806238210,1795866290513,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /v2/jobs/activation','','req_01a221f8-e91c-7d1c-bd64-7fcab504682e','done');
INSERT INTO actions VALUES(470775572806500353,1795866290517,'admin-fc8f4cd5','admin','key',NULL,'127.0.0.1','POST /ojs/v1/admin/system/maintenance','','req_01a221f8-e91c-7d1c-bd64-7fcab504682f','done');
CREATE TABLE checkpoints (
    job_id TEXT NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    saved_at INTEGER NOT NULL
, step_index INTEGER, metadata TEXT) STRICT;
INSERT INTO checkpoints VALUES('01a221f8-c8f5-71a4-bbcb-236c9846348a',7,'[1, null]',1795866282234,NULL,NULL);
CREATE TABLE cron (
    name TEXT NOT NULL PRIMARY KEY,
    expression TEXT NOT NULL,
    timezone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    counted_from INTEGER NOT NULL,
    next_run_at INTEGER,
    last_run_at INTEGER,
    last_job_id TEXT,
    run_count INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO cron VALUES('daily-report','30 2 * * MON-FRI','Europe/Berlin','skip',1,'{"job_template":{"type":"report.build","args":["daily"],"options":{"queue":"reports-nightly"}},"description":null}',1795866282384,1795866282384,1795866282384,1796002200000,1795866282386,'01a221f8-c992-7609-a541-741a3891d62c',1,0);
INSERT INTO cron VALUES('tick','@every 1s','UTC','enqueue',1,'{"job_template":{"type":"tick","args":[],"options":{"queue":"ticks"}},"description":null}',1795866282388,1795866282388,1795866290388,1795866291388,1795866290465,'01a221f8-cd7d-7526-bcdc-5b644672e345',8,7);
CREATE TABLE cron_runs (
    pos INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    job_id TEXT,
    manual INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;
INSERT INTO cron_runs VALUES(470775570628870146,'daily-report',1795866282386,1795866282386,'triggered',NULL,'01a221f8-c992-7609-a541-741a3891d62c',1,0);
INSERT INTO cron_runs VALUES(470775570634375170,'tick',1795866283388,1795866283389,'triggered',NULL,'01a221f8-cd7d-7526-bcdc-5b644672e345',0,0);
INSERT INTO cron_runs VALUES(470775570634899458,'tick',1795866284388,1795866284389,'triggered',NULL,'01a221f8-d165-709f-993d-8beb2451ff9d',0,1);
INSERT INTO cron_runs VALUES(470775570635423746,'tick',1795866285388,1795866285390,'triggered',NULL,'01a221f8-d54e-7656-b7e6-40be10fdf512',0,1);
INSERT INTO cron_runs VALUES(470775570635948034,'tick',1795866286388,1795866286394,'triggered',NULL,'01a221f8-d93a-754c-903e-5e5f44ddae4e',0,1);
INSERT INTO cron_runs VALUES(470775571975241730,'tick',1795866287388,1795866287463,'triggered',NULL,'01a221f8-dd67-7135-b725-b00184a127c5',0,1);
INSERT INTO cron_runs VALUES(470775571976290306,'tick',1795866288388,1795866288390,'triggered',NULL,'01a221f8-e106-7509-a344-8f7a61a9dc23',0,1);
INSERT INTO cron_runs VALUES(470775571976814594,'tick',1795866289388,1795866289389,'triggered',NULL,'01a221f8-e4ed-748d-a333-1e15da011cdc',0,1);
INSERT INTO cron_runs VALUES(470775572805713922,'tick',1795866290388,1795866290465,'triggered',NULL,'01a221f8-e921-74cf-9f9d-758cd472d09d',0,1);
CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    webhook_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    answer INTEGER,
    error TEXT,
    took_ms INTEGER
, tenant TEXT) STRICT;
INSERT INTO deliveries VALUES('dlv_01a221f8-c8f5-7de9-99a7-1c7eee695e5d','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93','evt_01a221f8-c8df-7000-8688-87e31fd40001','job.completed','{"specversion":"1.0","id":"evt_01a221f8-c8df-7000-8688-87e31fd40001","type":"job.completed","source":"ojs://ojs-server/api","time":"2026-11-28T11:44:42.207Z","subject":"01a221f8-c8db-74b8-bc37-6ac18324efc3","datacontenttype":"application/json","data":{"job_id":"01a221f8-c8db-74b8-bc37-6ac18324efc3","job_type":"email.send","queue":"email","worker_id":"worker-1","attempt":1,"duration_ms":2,"tenant_id":"_default"}}','delivered',1,NULL,1795866282229,1795866282371,204,NULL,115,NULL);
INSERT INTO deliveries VALUES('dlv_01a221f8-c8f5-75a2-9fc9-e5a24914ba4f','sub_01a221f8-c8ce-743c-a5d2-63717996accf','evt_01a221f8-c8ea-7000-8688-87e31fec0002','job.discarded','{"specversion":"1.0","id":"evt_01a221f8-c8ea-7000-8688-87e31fec0002","type":"job.discarded","source":"ojs://ojs-server/api","time":"2026-11-28T11:44:42.218Z","subject":"01a221f8-c8e5-75a6-8d05-b9efa85f3fbf","datacontenttype":"application/json","data":{"job_id":"01a221f8-c8e5-75a6-8d05-b9efa85f3fbf","job_type":"email.send","queue":"email","total_attempts":1,"last_error":{"code":"handler_error","message":"no such user"},"tenant_id":"_default"}}','pending',1,1795866312371,1795866282229,NULL,503,'the target answered 503',12,NULL);
INSERT INTO deliveries VALUES('dlv_01a221f8-c90a-7f8c-8b7f-1c1d35ab95e8','sub_01a221f8-c8ce-743c-a5d2-63717996accf','evt_01a221f8-c8f3-7000-8688-87e31ff80002','job.discarded','{"specversion":"1.0","id":"evt_01a221f8-c8f3-7000-8688-87e31ff80002","type":"job.discarded","source":"ojs://ojs-server/api","time":"2026-11-28T11:44:42.227Z","subject":"01a221f8-c8ec-74b0-82bd-137196ce7d1f","datacontenttype":"application/json","data":{"job_id":"01a221f8-c8ec-74b0-82bd-137196ce7d1f","job_type":"email.send","queue":"email","total_attempts":1,"last_error":{"code":"handler_error","message":"bad"},"tenant_id":"_default"}}','pending',1,1795866312371,1795866282250,NULL,503,'the target answered 503',7,NULL);
INSERT INTO deliveries VALUES('dlv_01a221f8-c9ab-705e-80d0-7f17ef99eec1','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93','evt_01a221f8-c999-7000-8688-87e320540002','job.completed','{"specversion":"1.0","id":"evt_01a221f8-c999-7000-8688-87e320540002","type":"job.completed","source":"ojs://ojs-server/api","time":"2026-11-28T11:44:42.393Z","subject":"01a221f8-c996-7784-b97c-9c81eef13134","datacontenttype":"application/json","data":{"job_id":"01a221f8-c996-7784-b97c-9c81eef13134","job_type":"report.load","queue":"flows","worker_id":"worker-1","attempt":1,"duration_ms":1,"tenant_id":"_default"}}','delivered',1,NULL,1795866282411,1795866282442,204,NULL,4,NULL);
INSERT INTO deliveries VALUES('dlv_01a221f8-c9ab-7302-9fa7-9a6968a4908e','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93','evt_01a221f8-c9a2-7000-8688-87e320680001','job.completed','{"specversion":"1.0","id":"evt_01a221f8-c9a2-7000-8688-87e320680001","type":"job.completed","source":"ojs://ojs-server/api","time":"2026-11-28T11:44:42.402Z","subject":"01a221f8-c99f-7103-b81a-cd78024bdbef","datacontenttype":"application/json","data":{"job_id":"01a221f8-c99f-7103-b81a-cd78024bdbef","job_type":"short","queue":"flows2","worker_id":"worker-1","attempt":1,"duration_ms":1,"tenant_id":"_default"}}','delivered',1,NULL,1795866282411,1795866282442,204,NULL,3,NULL);
CREATE TABLE earlier_holders (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    started_at INTEGER,
    PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;
INSERT INTO earlier_holders VALUES('01a221f8-c8fb-7279-9558-f31a1ba27cc7',1,'worker-2',1795866282236);
CREATE TABLE event_tally (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    upto INTEGER NOT NULL,
    total INTEGER NOT NULL
) STRICT;
INSERT INTO event_tally VALUES(1,470775571976814595,95);
CREATE TABLE events (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    queue TEXT,
    job_type TEXT,
    data TEXT NOT NULL
) STRICT;
INSERT INTO events VALUES(470775570616549377,1795866282090,'worker.started','worker-1',NULL,NULL,'{"worker_id":"worker-1","queues":["critical","email"],"concurrency":10,"incarnation":1,"registered":true}');
INSERT INTO events VALUES(470775570616811522,1795866282094,'queue.configured','email','email',NULL,'{"queue":"email","config":{"concurrency":null,"rate_limit":null,"throttle":null,"backpressure":{"max_depth":10000,"max_size_bytes":null,"strategy":"reject","warning_threshold":0.8},"max_size":10000,"max_size_bytes":null,"overflow_policy":"reject","visibility_timeout":null,"default_timeout":null,"default_retry":null,"retention":null,"dead_letter_ttl":null,"dead_letter_max_size":null,"allowed_job_types":["*"]}}');
INSERT INTO events VALUES(470775570617073666,1795866282097,'queue.configured','limited','limited',NULL,'{"queue":"limited","config":{"concurrency":1,"rate_limit":{"limit":100,"period":"PT60S"},"throttle":null,"backpressure":null,"max_size":null,"max_size_bytes":null,"overflow_policy":null,"visibility_timeout":null,"default_timeout":null,"default_retry":null,"retention":null,"dead_letter_ttl":null,"dead_letter_max_size":null,"allowed_job_types":["*"]}}');
INSERT INTO events VALUES(470775570617335810,1795866282099,'queue.paused','paused','paused',NULL,'{"queue":"paused"}');
INSERT INTO events VALUES(470775570617860098,1795866282105,'tenant.created','acme',NULL,NULL,'{"max_concurrency":5,"max_enqueue_rate":{"limit":100,"period":"PT60S"},"max_queue_depth":null,"max_scheduled":null,"fairness_weight":2,"priority_boost":0,"tenant_id":"acme"}');
INSERT INTO events VALUES(470775570618908674,1795866282185,'webhook.subscription.created','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8c9-7300-93d1-0a69b7293d93"}');
INSERT INTO events VALUES(470775570619170818,1795866282190,'webhook.subscription.created','sub_01a221f8-c8ce-743c-a5d2-63717996accf',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8ce-743c-a5d2-63717996accf"}');
INSERT INTO events VALUES(470775570619432962,1795866282191,'job.scheduled','01a221f8-c8cf-706a-9462-87a39370bf18','email','email.send','{"scheduled_at":"2026-11-28T12:44:42.191Z"}');
INSERT INTO events VALUES(470775570619957250,1795866282194,'job.enqueued','01a221f8-c8d2-7577-a3d7-85606e635862','waiting','email.send','{"priority":5}');
INSERT INTO events VALUES(470775570620219394,1795866282196,'job.enqueued','01a221f8-c8d4-7542-a282-37bb835bd346','waiting','email.send','{"priority":0,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}');
INSERT INTO events VALUES(470775570620481538,1795866282197,'job.enqueued','01a221f8-c8d5-7005-b813-bb4e0c50b75c','email','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570620743682,1795866282202,'job.cancelled','01a221f8-c8d5-7005-b813-bb4e0c50b75c','email','email.send','{"previous_state":"available","tenant_id":"_default"}');
INSERT INTO events VALUES(470775570621005826,1795866282203,'job.enqueued','01a221f8-c8db-74b8-bc37-6ac18324efc3','email','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570621267969,1795866282205,'job.started','01a221f8-c8db-74b8-bc37-6ac18324efc3','email','email.send','{"worker_id":"worker-1","attempt":1,"queue_time_ms":2,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570621530113,1795866282207,'job.completed','01a221f8-c8db-74b8-bc37-6ac18324efc3','email','email.send','{"worker_id":"worker-1","attempt":1,"duration_ms":2,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570621792258,1795866282209,'job.enqueued','01a221f8-c8e1-764b-b823-e2622958cfc3','email','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570622054401,1795866282210,'job.started','01a221f8-c8e1-764b-b823-e2622958cfc3','email','email.send','{"worker_id":"worker-1","attempt":1,"queue_time_ms":1,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570622316545,1795866282211,'job.failed','01a221f8-c8e1-764b-b823-e2622958cfc3','email','email.send','{"worker_id":"worker-1","attempt":1,"duration_ms":1,"error":{"code":"handler_error","type":"SmtpError","message":"connection refused","retryable":true},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570622316546,1795866282211,'job.retrying','01a221f8-c8e1-764b-b823-e2622958cfc3','email','email.send','{"attempt":1,"max_attempts":5,"next_retry_at":"2026-11-28T12:44:42.211Z","error":{"code":"handler_error","message":"connection refused"},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570622578690,1795866282213,'job.enqueued','01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570622840833,1795866282214,'job.started','01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email','email.send','{"worker_id":"worker-1","attempt":1,"queue_time_ms":1,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623102977,1795866282218,'job.failed','01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email','email.send','{"worker_id":"worker-1","attempt":1,"duration_ms":4,"error":{"code":"handler_error","type":"Auth.Refused","message":"no such user","retryable":true},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623102978,1795866282218,'job.discarded','01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email','email.send','{"total_attempts":1,"last_error":{"code":"handler_error","message":"no such user"},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623102979,1795866282218,'dead_letter.added','01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email','email.send','{"total_attempts":1,"error_type":"Auth.Refused","tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623365122,1795866282220,'job.enqueued','01a221f8-c8ec-74b0-82bd-137196ce7d1f','email','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570623627265,1795866282225,'job.started','01a221f8-c8ec-74b0-82bd-137196ce7d1f','email','email.send','{"worker_id":"worker-1","attempt":1,"queue_time_ms":5,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623889409,1795866282227,'job.failed','01a221f8-c8ec-74b0-82bd-137196ce7d1f','email','email.send','{"worker_id":"worker-1","attempt":1,"duration_ms":2,"error":{"code":"handler_error","type":"handler_error","message":"bad","retryable":false},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623889410,1795866282227,'job.discarded','01a221f8-c8ec-74b0-82bd-137196ce7d1f','email','email.send','{"total_attempts":1,"last_error":{"code":"handler_error","message":"bad"},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570623889411,1795866282227,'dead_letter.added','01a221f8-c8ec-74b0-82bd-137196ce7d1f','email','email.send','{"total_attempts":1,"error_type":"handler_error","tenant_id":"_default"}');
INSERT INTO events VALUES(470775570624151554,1795866282229,'job.enqueued','01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','{"priority":0}');
INSERT INTO events VALUES(470775570624413697,1795866282231,'job.started','01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','{"worker_id":"worker-1","attempt":1,"queue_time_ms":2,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570624675841,1795866282232,'job.progress','01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','{"worker_id":"worker-1","attempt":1,"progress_percent":75.0,"progress_message":"three quarters","tenant_id":"_default"}');
INSERT INTO events VALUES(470775570624675842,1795866282232,'progress.updated','01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','{"progress":0.75,"data":{"rows":750},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570624937985,1795866282234,'job.checkpointed','01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','{"worker_id":"worker-1","attempt":1,"sequence":7,"size_bytes":9,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570625200130,1795866282235,'job.enqueued','01a221f8-c8fb-7279-9558-f31a1ba27cc7','lost','report.build','{"priority":0}');
INSERT INTO events VALUES(470775570625462273,1795866282236,'job.started','01a221f8-c8fb-7279-9558-f31a1ba27cc7','lost','report.build','{"worker_id":"worker-2","attempt":1,"queue_time_ms":1,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570625724418,1795866282238,'job.enqueued','01a221f8-c8fe-7795-850f-87ab6bdd47ff','waiting','email.send','{"priority":0,"unique_key":"746f5fe4679431156ddaf952dc9da3fe9fb8a9f1de8a7dbeba512e095cd2ce5d"}');
INSERT INTO events VALUES(470775570625986562,1795866282239,'job.enqueued','01a221f8-c8ff-75c8-b9be-5c2ad1597ad2','waiting','email.send','{"priority":0}');
INSERT INTO events VALUES(470775570626248706,1795866282241,'job.enqueued','01a221f8-c901-7550-af2c-7d006ae48d85','default','zeebe.task','{"priority":0}');
INSERT INTO events VALUES(470775570626510850,1795866282242,'job.enqueued','01a221f8-c902-7470-b7ea-dd3e50cf8450','waiting','gpu.train','{"priority":0}');
INSERT INTO events VALUES(470775570626772994,1795866282246,'job.enqueued','01a221f8-c906-7324-9295-4aa5520c8164','sms','sms.send','{"priority":0}');
INSERT INTO events VALUES(470775570627035138,1795866282248,'job.enqueued','01a221f8-c908-71f8-b7d2-3f27bcdaabf5','sms','sms.send','{"priority":0}');
INSERT INTO events VALUES(470775570627297282,1795866282250,'job.enqueued','01a221f8-c90a-754f-bed6-209d44da3e40','sms','sms.send','{"priority":0}');
INSERT INTO events VALUES(470775570627821569,1795866282364,'job.started','01a221f8-c906-7324-9295-4aa5520c8164','sms','sms.send','{"worker_id":"worker-3","attempt":1,"queue_time_ms":118,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570627821570,1795866282364,'rate_limit.exceeded','sms-gateway',NULL,NULL,'{"key":"sms-gateway","strategy":"wait","limited_by":"concurrency","limit":1,"current":1}');
INSERT INTO events VALUES(470775570628083714,1795866282371,'webhook.delivered','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8c9-7300-93d1-0a69b7293d93","delivery_id":"dlv_01a221f8-c8f5-7de9-99a7-1c7eee695e5d","event_id":"evt_01a221f8-c8df-7000-8688-87e31fd40001","event_type":"job.completed","attempt":1,"status_code":204,"error":null,"next_attempt_at":null}');
INSERT INTO events VALUES(470775570628083715,1795866282371,'webhook.failed','sub_01a221f8-c8ce-743c-a5d2-63717996accf',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8ce-743c-a5d2-63717996accf","delivery_id":"dlv_01a221f8-c8f5-75a2-9fc9-e5a24914ba4f","event_id":"evt_01a221f8-c8ea-7000-8688-87e31fec0002","event_type":"job.discarded","attempt":1,"status_code":503,"error":"the target answered 503","next_attempt_at":"2026-11-28T11:45:12.371Z"}');
INSERT INTO events VALUES(470775570628083716,1795866282371,'webhook.failed','sub_01a221f8-c8ce-743c-a5d2-63717996accf',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8ce-743c-a5d2-63717996accf","delivery_id":"dlv_01a221f8-c90a-7f8c-8b7f-1c1d35ab95e8","event_id":"evt_01a221f8-c8f3-7000-8688-87e31ff80002","event_type":"job.discarded","attempt":1,"status_code":503,"error":"the target answered 503","next_attempt_at":"2026-11-28T11:45:12.371Z"}');
INSERT INTO events VALUES(470775570628083717,1795866282371,'rate_limit.dynamic_adjusted','sms-gateway',NULL,NULL,'{"key":"sms-gateway","until":"2026-11-28T12:44:42.371Z","reason":"operator"}');
INSERT INTO events VALUES(470775570628345858,1795866282374,'job.enqueued','01a221f8-c986-7144-ac20-6d30cb55bdda','waiting','email.send','{"priority":0,"tenant_id":"acme"}');
INSERT INTO events VALUES(470775570628870148,1795866282386,'cron.triggered','daily-report','reports-nightly','report.build','{"cron_name":"daily-report","cron_expr":"30 2 * * MON-FRI","cron_expression":"30 2 * * MON-FRI","timezone":"Europe/Berlin","job_type":"report.build","run_count":1,"scheduled_at":"2026-11-28T11:44:42.386Z","scheduled_time":"2026-11-28T11:44:42.386Z","actual_time":"2026-11-28T11:44:42.386Z","job_id":"01a221f8-c992-7609-a541-741a3891d62c","queue":"reports-nightly","manual":true,"waiting":0}');
INSERT INTO events VALUES(470775570628870149,1795866282386,'job.enqueued','01a221f8-c992-7609-a541-741a3891d62c','reports-nightly','report.build','{"priority":0}');
INSERT INTO events VALUES(470775570629394434,1795866282390,'job.enqueued','01a221f8-c996-7784-b97c-9c81eef13134','flows','report.load','{"priority":0}');
INSERT INTO events VALUES(470775570629394435,1795866282390,'workflow.created','01a221f8-c996-7784-b97c-9c8143f46867',NULL,NULL,'{"workflow_id":"01a221f8-c996-7784-b97c-9c8143f46867","workflow_name":"nightly","workflow_type":"chain","total_steps":3}');
INSERT INTO events VALUES(470775570629394436,1795866282390,'workflow.started','01a221f8-c996-7784-b97c-9c8143f46867',NULL,NULL,'{"workflow_id":"01a221f8-c996-7784-b97c-9c8143f46867","workflow_name":"nightly","workflow_type":"chain","total_steps":3}');
INSERT INTO events VALUES(470775570629656577,1795866282392,'job.started','01a221f8-c996-7784-b97c-9c81eef13134','flows','report.load','{"worker_id":"worker-1","attempt":1,"queue_time_ms":2,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570629918722,1795866282393,'job.completed','01a221f8-c996-7784-b97c-9c81eef13134','flows','report.load','{"worker_id":"worker-1","attempt":1,"duration_ms":1,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570629918723,1795866282393,'workflow.step_completed','01a221f8-c996-7784-b97c-9c8143f46867',NULL,NULL,'{"workflow_id":"01a221f8-c996-7784-b97c-9c8143f46867","workflow_name":"nightly","workflow_type":"chain","total_steps":3,"step_id":"0","step_type":"report.load","job_id":"01a221f8-c996-7784-b97c-9c81eef13134","steps_remaining":2,"duration_ms":1}');
INSERT INTO events VALUES(470775570629918724,1795866282393,'job.enqueued','01a221f8-c999-72cd-8d98-2b1eb2583c6f','flows','report.send','{"priority":0}');
INSERT INTO events VALUES(470775570630180867,1795866282396,'job.enqueued','01a221f8-c99c-751f-907f-c8627d4eeb04','waiting','image.scale','{"priority":0}');
INSERT INTO events VALUES(470775570630180868,1795866282396,'job.enqueued','01a221f8-c99c-751f-907f-c8636e78f4c6','waiting','image.scale','{"priority":0}');
INSERT INTO events VALUES(470775570630180869,1795866282396,'workflow.created','01a221f8-c99c-751f-907f-c8624d217e6b',NULL,NULL,'{"workflow_id":"01a221f8-c99c-751f-907f-c8624d217e6b","workflow_name":null,"workflow_type":"group","total_steps":2}');
INSERT INTO events VALUES(470775570630180870,1795866282396,'workflow.started','01a221f8-c99c-751f-907f-c8624d217e6b',NULL,NULL,'{"workflow_id":"01a221f8-c99c-751f-907f-c8624d217e6b","workflow_name":null,"workflow_type":"group","total_steps":2}');
INSERT INTO events VALUES(470775570630443010,1795866282398,'job.enqueued','01a221f8-c99e-70c0-ac96-0b20e8077d3a','waiting','mail.send','{"priority":0}');
INSERT INTO events VALUES(470775570630443011,1795866282398,'workflow.created','01a221f8-c99e-70c0-ac96-0b20ceec5d3e',NULL,NULL,'{"workflow_id":"01a221f8-c99e-70c0-ac96-0b20ceec5d3e","workflow_name":null,"workflow_type":"batch","total_steps":1}');
INSERT INTO events VALUES(470775570630443012,1795866282398,'workflow.started','01a221f8-c99e-70c0-ac96-0b20ceec5d3e',NULL,NULL,'{"workflow_id":"01a221f8-c99e-70c0-ac96-0b20ceec5d3e","workflow_name":null,"workflow_type":"batch","total_steps":1}');
INSERT INTO events VALUES(470775570630705154,1795866282399,'job.enqueued','01a221f8-c99f-7103-b81a-cd78024bdbef','flows2','short','{"priority":0}');
INSERT INTO events VALUES(470775570630705155,1795866282399,'workflow.created','01a221f8-c99f-7103-b81a-cd773ff0ac5b',NULL,NULL,'{"workflow_id":"01a221f8-c99f-7103-b81a-cd773ff0ac5b","workflow_name":null,"workflow_type":"chain","total_steps":1}');
INSERT INTO events VALUES(470775570630705156,1795866282399,'workflow.started','01a221f8-c99f-7103-b81a-cd773ff0ac5b',NULL,NULL,'{"workflow_id":"01a221f8-c99f-7103-b81a-cd773ff0ac5b","workflow_name":null,"workflow_type":"chain","total_steps":1}');
INSERT INTO events VALUES(470775570630967297,1795866282401,'job.started','01a221f8-c99f-7103-b81a-cd78024bdbef','flows2','short','{"worker_id":"worker-1","attempt":1,"queue_time_ms":2,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570631229441,1795866282402,'job.completed','01a221f8-c99f-7103-b81a-cd78024bdbef','flows2','short','{"worker_id":"worker-1","attempt":1,"duration_ms":1,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570631229442,1795866282402,'workflow.step_completed','01a221f8-c99f-7103-b81a-cd773ff0ac5b',NULL,NULL,'{"workflow_id":"01a221f8-c99f-7103-b81a-cd773ff0ac5b","workflow_name":null,"workflow_type":"chain","total_steps":1,"step_id":"0","step_type":"short","job_id":"01a221f8-c99f-7103-b81a-cd78024bdbef","steps_remaining":0,"duration_ms":1}');
INSERT INTO events VALUES(470775570631229443,1795866282402,'workflow.completed','01a221f8-c99f-7103-b81a-cd773ff0ac5b',NULL,NULL,'{"workflow_id":"01a221f8-c99f-7103-b81a-cd773ff0ac5b","workflow_name":null,"workflow_type":"chain","total_steps":1,"duration_ms":3,"steps_completed":1,"steps_failed":0}');
INSERT INTO events VALUES(470775570631491585,1795866282404,'job_types.changed','lab',NULL,NULL,'{"room":"lab"}');
INSERT INTO events VALUES(470775570631753730,1795866282407,'job.enqueued','01a221f8-c9a7-7731-9a2e-d6d6cc80d876','lab','kind.xd7a775b62d2d77ca0bf412847dd7d9fa','{"priority":0}');
INSERT INTO events VALUES(470775570632015873,1795866282409,'job_types.changed','lab',NULL,NULL,'{"room":"lab"}');
INSERT INTO events VALUES(470775570632540162,1795866282412,'job.enqueued','01a221f8-c9ac-739e-bfe0-54a2a75ea1c6','blackboard','kind.xdeee4ea40a2ecdf8db33b9e577e044da','{"priority":0}');
INSERT INTO events VALUES(470775570633064450,1795866282414,'queue.paused','held','held',NULL,'{"queue":"held"}');
INSERT INTO events VALUES(470775570633588737,1795866282442,'webhook.delivered','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8c9-7300-93d1-0a69b7293d93","delivery_id":"dlv_01a221f8-c9ab-705e-80d0-7f17ef99eec1","event_id":"evt_01a221f8-c999-7000-8688-87e320540002","event_type":"job.completed","attempt":1,"status_code":204,"error":null,"next_attempt_at":null}');
INSERT INTO events VALUES(470775570633588738,1795866282442,'webhook.delivered','sub_01a221f8-c8c9-7300-93d1-0a69b7293d93',NULL,NULL,'{"subscription_id":"sub_01a221f8-c8c9-7300-93d1-0a69b7293d93","delivery_id":"dlv_01a221f8-c9ab-7302-9fa7-9a6968a4908e","event_id":"evt_01a221f8-c9a2-7000-8688-87e320680001","event_type":"job.completed","attempt":1,"status_code":204,"error":null,"next_attempt_at":null}');
INSERT INTO events VALUES(470775570634113025,1795866283236,'job.failed','01a221f8-c8fb-7279-9558-f31a1ba27cc7','lost','report.build','{"worker_id":"worker-2","attempt":1,"duration_ms":1000,"error":{"code":"visibility_timeout","type":"visibility_timeout","message":"the worker neither finished the job nor sent a heartbeat for it in time","retryable":true},"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570634375171,1795866283389,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":1,"scheduled_at":"2026-11-28T11:44:43.388Z","scheduled_time":"2026-11-28T11:44:43.388Z","actual_time":"2026-11-28T11:44:43.389Z","job_id":"01a221f8-cd7d-7526-bcdc-5b644672e345","queue":"ticks","manual":false,"waiting":0}');
INSERT INTO events VALUES(470775570634375172,1795866283389,'job.enqueued','01a221f8-cd7d-7526-bcdc-5b644672e345','ticks','tick','{"priority":0}');
INSERT INTO events VALUES(470775570634899459,1795866284389,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":2,"scheduled_at":"2026-11-28T11:44:44.388Z","scheduled_time":"2026-11-28T11:44:44.388Z","actual_time":"2026-11-28T11:44:44.389Z","job_id":"01a221f8-d165-709f-993d-8beb2451ff9d","queue":"ticks","manual":false,"waiting":1}');
INSERT INTO events VALUES(470775570635423747,1795866285390,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":3,"scheduled_at":"2026-11-28T11:44:45.388Z","scheduled_time":"2026-11-28T11:44:45.388Z","actual_time":"2026-11-28T11:44:45.390Z","job_id":"01a221f8-d54e-7656-b7e6-40be10fdf512","queue":"ticks","manual":false,"waiting":2}');
INSERT INTO events VALUES(470775570635948035,1795866286394,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":4,"scheduled_at":"2026-11-28T11:44:46.388Z","scheduled_time":"2026-11-28T11:44:46.388Z","actual_time":"2026-11-28T11:44:46.394Z","job_id":"01a221f8-d93a-754c-903e-5e5f44ddae4e","queue":"ticks","manual":false,"waiting":3}');
INSERT INTO events VALUES(470775570636472321,1795866286416,'job.started','01a221f8-c8fb-7279-9558-f31a1ba27cc7','lost','report.build','{"worker_id":"worker-3","attempt":2,"queue_time_ms":4181,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775570636996609,1795866286431,'worker.started','worker-gone',NULL,NULL,'{"worker_id":"worker-gone","queues":["email"],"concurrency":1,"incarnation":1,"registered":true}');
INSERT INTO events VALUES(470775570637258753,1795866286435,'worker.offline','worker-gone',NULL,NULL,'{"worker_id":"worker-gone","previous":"online","last_heartbeat_at":null}');
INSERT INTO events VALUES(470775570637258754,1795866286435,'worker.stopped','worker-gone',NULL,NULL,'{"worker_id":"worker-gone","reason":"shutdown","jobs_returned":0}');
INSERT INTO events VALUES(470775571975241731,1795866287463,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":5,"scheduled_at":"2026-11-28T11:44:47.388Z","scheduled_time":"2026-11-28T11:44:47.388Z","actual_time":"2026-11-28T11:44:47.463Z","job_id":"01a221f8-dd67-7135-b725-b00184a127c5","queue":"ticks","manual":false,"waiting":4}');
INSERT INTO events VALUES(470775571975766018,1795866287590,'providers.changed','lab',NULL,NULL,'{"room":"lab"}');
INSERT INTO events VALUES(470775571976028161,1795866287603,'provider.requested','49c0164d-d4f2-5798-a7ee-00091dcef244',NULL,NULL,'{"provider_name":"lab:sensors:Angle","request_id":"20d177cb910b5e6675e1312466cb0013990b799b0360fdff1aa7377acd131a70","params":"{\"unit\":\"deg\"}"}');
INSERT INTO events VALUES(470775571976290307,1795866288390,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":6,"scheduled_at":"2026-11-28T11:44:48.388Z","scheduled_time":"2026-11-28T11:44:48.388Z","actual_time":"2026-11-28T11:44:48.390Z","job_id":"01a221f8-e106-7509-a344-8f7a61a9dc23","queue":"ticks","manual":false,"waiting":5}');
INSERT INTO events VALUES(470775571976814595,1795866289389,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":7,"scheduled_at":"2026-11-28T11:44:49.388Z","scheduled_time":"2026-11-28T11:44:49.388Z","actual_time":"2026-11-28T11:44:49.389Z","job_id":"01a221f8-e4ed-748d-a333-1e15da011cdc","queue":"ticks","manual":false,"waiting":6}');
INSERT INTO events VALUES(470775572805713923,1795866290465,'cron.triggered','tick','ticks','tick','{"cron_name":"tick","cron_expr":"@every 1s","cron_expression":"@every 1s","timezone":"UTC","job_type":"tick","run_count":8,"scheduled_at":"2026-11-28T11:44:50.388Z","scheduled_time":"2026-11-28T11:44:50.388Z","actual_time":"2026-11-28T11:44:50.465Z","job_id":"01a221f8-e921-74cf-9f9d-758cd472d09d","queue":"ticks","manual":false,"waiting":7}');
INSERT INTO events VALUES(470775572806238211,1795866290513,'job.started','01a221f8-c901-7550-af2c-7d006ae48d85','default','zeebe.task','{"worker_id":"z","attempt":1,"queue_time_ms":8272,"tenant_id":"_default"}');
INSERT INTO events VALUES(470775572806500354,1795866290517,'maintenance.started','maintenance',NULL,NULL,'{"maintenance_reason":"database upgrade"}');
CREATE TABLE job_kinds (
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT,
    type TEXT NOT NULL,
    schema TEXT,
    result_schema TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (room, name)
) STRICT, WITHOUT ROWID;
INSERT INTO job_kinds VALUES('','configBackup',NULL,'kind.xdeee4ea40a2ecdf8db33b9e577e044da',NULL,NULL,1795866282409,1795866282409,NULL);
INSERT INTO job_kinds VALUES('lab','modifiers:Rotate','lab','kind.xd7a775b62d2d77ca0bf412847dd7d9fa','{"type":"object","properties":{"angle":{"type":"number"}}}',NULL,1795866282404,1795866282404,NULL);
CREATE TABLE job_numbers (
    number INTEGER NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO job_numbers VALUES(470775572806238209,'01a221f8-c901-7550-af2c-7d006ae48d85');
CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    type TEXT NOT NULL,
    queue TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    releases INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    enqueued_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    completed_at INTEGER,
    scheduled_at INTEGER,
    expires_at INTEGER,
    due_at INTEGER,
    lease_ms INTEGER,
    run_ms INTEGER,
    retry_delay_ms INTEGER,
    spec TEXT NOT NULL,
    error TEXT,
    errors TEXT,
    args TEXT NOT NULL,
    meta TEXT NOT NULL,
    request_hash BLOB,
    result TEXT
, unique_key BLOB, workflow_id TEXT, workflow_node INTEGER, parent_results TEXT, rate_key TEXT, on_limit TEXT, gated INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, trace_id TEXT, beside INTEGER NOT NULL DEFAULT 0, error_type TEXT, kept INTEGER, demand TEXT, tenant TEXT, ended_by TEXT) STRICT;
INSERT INTO jobs VALUES('01a221f8-c8cf-706a-9462-87a39370bf18','email.send','email','scheduled',0,470775570619432961,0,0,3,1795866282191,NULL,NULL,NULL,NULL,1795869882191,NULL,1795869882191,NULL,NULL,NULL,'{}',NULL,NULL,'["later@example.com"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,25,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8d1-74d3-979b-4872cf2faf04','email.send','email','pending',0,470775570619695105,0,0,3,1795866282193,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'["held@example.com"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,24,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8d2-7577-a3d7-85606e635862','email.send','waiting','available',5,470775570619957249,0,0,3,1795866282194,1795866282194,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"tags":["onboarding"]}',NULL,NULL,'["waits@example.com"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,46,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8d4-7542-a282-37bb835bd346','email.send','waiting','available',0,470775570620219393,0,0,3,1795866282196,1795866282196,NULL,NULL,NULL,NULL,1798458282196,1798458282196,90000,60000,NULL,'{"timeout_ms":60000,"visibility_timeout_ms":90000}',NULL,NULL,'[{"to":"é☃\\u0000 <a''b>"}]','{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","user_id":"u-17"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,143,'4bf92f3577b34da6a3ce929d0e0e4736',0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8d5-7005-b813-bb4e0c50b75c','email.send','email','cancelled',0,470775570620481537,0,0,3,1795866282197,1795866282197,NULL,1795866282202,NULL,NULL,NULL,1796471082202,NULL,NULL,NULL,'{}',NULL,NULL,'["cancelled"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,17,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8db-74b8-bc37-6ac18324efc3','email.send','email','completed',0,470775570621005825,1,0,3,1795866282203,1795866282203,1795866282205,1795866282207,1795866282207,NULL,NULL,1796471082207,NULL,NULL,NULL,'{}',NULL,NULL,'["done@example.com"]','{}',NULL,'{"sent":true}',NULL,NULL,NULL,NULL,NULL,NULL,0,24,NULL,0,NULL,NULL,NULL,'_default','worker-1');
INSERT INTO jobs VALUES('01a221f8-c8e1-764b-b823-e2622958cfc3','email.send','email','retryable',0,470775570621792257,1,0,5,1795866282209,1795866282209,1795866282210,NULL,NULL,NULL,NULL,1795869882211,NULL,NULL,3600000,'{"retry":{"max_attempts":5,"initial_interval":"PT3600S","initial_interval_ms":3600000,"backoff_coefficient":2.0,"max_interval":"PT3600S","max_interval_ms":3600000,"jitter":false,"non_retryable_errors":[],"on_exhaustion":"discard","backoff_strategy":"exponential"}}','{"code":"handler_error","type":"SmtpError","message":"connection refused","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:42.211Z","details":{"host":"mail.example.com"},"backtrace":["mail.py:41 in connect"],"started_at":"2026-11-28T11:44:42.210Z","worker_id":"worker-1"}','[{"code":"handler_error","type":"SmtpError","message":"connection refused","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:42.211Z","details":{"host":"mail.example.com"},"backtrace":["mail.py:41 in connect"],"started_at":"2026-11-28T11:44:42.210Z","worker_id":"worker-1"}]','["retried@example.com"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,289,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8e5-75a6-8d05-b9efa85f3fbf','email.send','email','discarded',0,470775570622578689,1,0,1,1795866282213,1795866282213,1795866282214,1795866282218,1795866282218,NULL,NULL,1811418282218,NULL,NULL,NULL,'{"retry":{"max_attempts":1,"initial_interval":"PT1S","initial_interval_ms":1000,"backoff_coefficient":2.0,"max_interval":"PT300S","max_interval_ms":300000,"jitter":true,"non_retryable_errors":[],"on_exhaustion":"dead_letter","backoff_strategy":"exponential"}}','{"code":"handler_error","type":"Auth.Refused","message":"no such user","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:42.218Z","started_at":"2026-11-28T11:44:42.214Z","worker_id":"worker-1"}','[{"code":"handler_error","type":"Auth.Refused","message":"no such user","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:42.218Z","started_at":"2026-11-28T11:44:42.214Z","worker_id":"worker-1"}]','["dead@example.com"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,281,NULL,0,'Auth.Refused',1,NULL,'_default','worker-1');
INSERT INTO jobs VALUES('01a221f8-c8ec-74b0-82bd-137196ce7d1f','email.send','email','discarded',0,470775570623365121,1,0,1,1795866282220,1795866282220,1795866282225,1795866282227,1795866282227,NULL,NULL,1798458282227,NULL,NULL,NULL,'{"retry":{"max_attempts":1,"initial_interval":"PT1S","initial_interval_ms":1000,"backoff_coefficient":2.0,"max_interval":"PT300S","max_interval_ms":300000,"jitter":true,"non_retryable_errors":[],"on_exhaustion":"discard","backoff_strategy":"exponential"}}','{"code":"handler_error","type":"handler_error","message":"bad","retryable":false,"attempt":1,"occurred_at":"2026-11-28T11:44:42.227Z","started_at":"2026-11-28T11:44:42.225Z","worker_id":"worker-1"}','[{"code":"handler_error","type":"handler_error","message":"bad","retryable":false,"attempt":1,"occurred_at":"2026-11-28T11:44:42.227Z","started_at":"2026-11-28T11:44:42.225Z","worker_id":"worker-1"}]','["dropped"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,268,NULL,0,'handler_error',0,NULL,'_default','worker-1');
INSERT INTO jobs VALUES('01a221f8-c8f5-71a4-bbcb-236c9846348a','report.build','reports','active',0,470775570624151553,1,0,3,1795866282229,1795866282229,1795866282231,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"version":1,"version_routed":true}',NULL,NULL,'["daily"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,46,NULL,3,NULL,NULL,'["report.build","1.0.0",[]]','_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8fb-7279-9558-f31a1ba27cc7','report.build','lost','active',0,470775570625200129,2,1,3,1795866282235,1795866282235,1795866286416,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"retry":{"max_attempts":3,"initial_interval":"PT0.1S","initial_interval_ms":100,"backoff_coefficient":2.0,"max_interval":"PT300S","max_interval_ms":300000,"jitter":false,"non_retryable_errors":[],"on_exhaustion":"discard","backoff_strategy":"exponential"},"version":2,"version_routed":true}','{"code":"visibility_timeout","type":"visibility_timeout","message":"the worker neither finished the job nor sent a heartbeat for it in time","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:43.236Z","started_at":"2026-11-28T11:44:42.236Z","worker_id":"worker-2"}','[{"code":"visibility_timeout","type":"visibility_timeout","message":"the worker neither finished the job nor sent a heartbeat for it in time","retryable":true,"attempt":1,"occurred_at":"2026-11-28T11:44:43.236Z","started_at":"2026-11-28T11:44:42.236Z","worker_id":"worker-2"}]','["lost"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,301,NULL,4,NULL,NULL,'["report.build","2.0.0",[]]','_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8fe-7795-850f-87ab6bdd47ff','email.send','waiting','available',0,470775570625724417,0,0,3,1795866282238,1795866282238,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"unique":{"keys":["type","args"],"on_conflict":"ignore","period":"PT3600S"}}',NULL,NULL,'["unique"]','{}',NULL,NULL,X'746F5FE4679431156DDAF952DC9DA3FE9FB8A9F1DE8A7DBEBA512E095CD2CE5D',NULL,NULL,NULL,NULL,NULL,0,89,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c8ff-75c8-b9be-5c2ad1597ad2','email.send','waiting','available',0,470775570625986561,0,0,3,1795866282239,1795866282239,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'["keyed"]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,13,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c901-7550-af2c-7d006ae48d85','zeebe.task','default','active',0,470775570626248705,1,0,3,1795866282241,1795866282241,1795866290513,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[{"variables":{}}]','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,22,NULL,8,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c902-7470-b7ea-dd3e50cf8450','gpu.train','waiting','available',0,470775570626510849,0,0,3,1795866282242,1795866282242,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[1]','{"ojs.ext_runtime":{"tags":["gpu"]}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,41,NULL,0,NULL,NULL,'["gpu.train",null,["gpu"]]','_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c906-7324-9295-4aa5520c8164','sms.send','sms','active',0,470775570626772993,1,0,3,1795866282246,1795866282246,1795866282364,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"rate_limit":{"key":"sms-gateway","concurrency":1,"on_limit":"wait"}}',NULL,NULL,'[0]','{}',NULL,NULL,NULL,NULL,NULL,NULL,'sms-gateway','wait',0,75,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c908-71f8-b7d2-3f27bcdaabf5','sms.send','sms','available',0,470775570627035137,0,0,3,1795866282248,1795866282248,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"rate_limit":{"key":"sms-gateway","concurrency":1,"on_limit":"wait"}}',NULL,NULL,'[1]','{}',NULL,NULL,NULL,NULL,NULL,NULL,'sms-gateway','wait',1,75,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c90a-754f-bed6-209d44da3e40','sms.send','sms','available',0,470775570627297281,0,0,3,1795866282250,1795866282250,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"rate_limit":{"key":"sms-gateway","concurrency":1,"on_limit":"wait"}}',NULL,NULL,'[2]','{}',NULL,NULL,NULL,NULL,NULL,NULL,'sms-gateway','wait',1,75,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c986-7144-ac20-6d30cb55bdda','email.send','waiting','available',0,470775570628345857,0,0,3,1795866282374,1795866282374,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'["of a tenant"]','{"tenant_id":"acme"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,37,NULL,0,NULL,NULL,NULL,'acme',NULL);
INSERT INTO jobs VALUES('01a221f8-c992-7609-a541-741a3891d62c','report.build','reports-nightly','available',0,470775570628870145,0,0,3,1795866282386,1795866282386,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"version":1,"version_routed":true}',NULL,NULL,'["daily"]','{"cron_name":"daily-report","cron_scheduled_at":"2026-11-28T11:44:42.386Z","cron_triggered_at":"2026-11-28T11:44:42.386Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,166,NULL,0,NULL,NULL,'["report.build","1.0.0",[]]','_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c996-7784-b97c-9c81eef13134','report.load','flows','completed',0,470775570629394433,1,0,3,1795866282390,1795866282390,1795866282392,1795866282393,1795866282393,NULL,NULL,1796471082393,NULL,NULL,NULL,'{}',NULL,NULL,'["daily"]','{}',NULL,'{"rows":12}',NULL,'01a221f8-c996-7784-b97c-9c8143f46867',1,'[]',NULL,NULL,0,13,NULL,0,NULL,NULL,NULL,'_default','worker-1');
INSERT INTO jobs VALUES('01a221f8-c999-72cd-8d98-2b1eb2583c6f','report.send','flows','available',0,470775570629918721,0,0,3,1795866282393,1795866282393,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{}',NULL,NULL,NULL,'01a221f8-c996-7784-b97c-9c8143f46867',2,'[{"rows":12}]',NULL,NULL,0,6,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c99c-751f-907f-c8627d4eeb04','image.scale','waiting','available',0,470775570630180865,0,0,3,1795866282396,1795866282396,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[100]','{}',NULL,NULL,NULL,'01a221f8-c99c-751f-907f-c8624d217e6b',1,'[]',NULL,NULL,0,9,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c99c-751f-907f-c8636e78f4c6','image.scale','waiting','available',0,470775570630180866,0,0,3,1795866282396,1795866282396,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[400]','{}',NULL,NULL,NULL,'01a221f8-c99c-751f-907f-c8624d217e6b',2,'[]',NULL,NULL,0,9,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c99e-70c0-ac96-0b20e8077d3a','mail.send','waiting','available',0,470775570630443009,0,0,3,1795866282398,1795866282398,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[1]','{}',NULL,NULL,NULL,'01a221f8-c99e-70c0-ac96-0b20ceec5d3e',1,'[]',NULL,NULL,0,7,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c99f-7103-b81a-cd78024bdbef','short','flows2','completed',0,470775570630705153,1,0,3,1795866282399,1795866282399,1795866282401,1795866282402,1795866282402,NULL,NULL,1796471082402,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{}',NULL,NULL,NULL,'01a221f8-c99f-7103-b81a-cd773ff0ac5b',1,'[]',NULL,NULL,0,6,NULL,0,NULL,NULL,NULL,'_default','worker-1');
INSERT INTO jobs VALUES('01a221f8-c9a7-7731-9a2e-d6d6cc80d876','kind.xd7a775b62d2d77ca0bf412847dd7d9fa','lab','available',0,470775570631753729,0,0,1,1795866282407,1795866282407,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"retry":{"max_attempts":1,"initial_interval":"PT1S","initial_interval_ms":1000,"backoff_coefficient":2.0,"max_interval":"PT300S","max_interval_ms":300000,"jitter":true,"non_retryable_errors":[],"on_exhaustion":"discard","backoff_strategy":"exponential"}}',NULL,NULL,'[{"angle":90}]','{"room":"lab","job":"modifiers:Rotate"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,308,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-c9ac-739e-bfe0-54a2a75ea1c6','kind.xdeee4ea40a2ecdf8db33b9e577e044da','blackboard','available',0,470775570632540161,0,0,3,1795866282412,1795866282412,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[{"host":"router-1"}]','{"phase":"execute","function_block":"configBackup"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,74,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-cd7d-7526-bcdc-5b644672e345','tick','ticks','available',0,470775570634375169,0,0,3,1795866283389,1795866283389,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:43.388Z","cron_triggered_at":"2026-11-28T11:44:43.389Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-d165-709f-993d-8beb2451ff9d','tick','ticks','pending',0,470775570634899457,0,0,3,1795866284389,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:44.388Z","cron_triggered_at":"2026-11-28T11:44:44.389Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-d54e-7656-b7e6-40be10fdf512','tick','ticks','pending',0,470775570635423745,0,0,3,1795866285390,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:45.388Z","cron_triggered_at":"2026-11-28T11:44:45.390Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-d93a-754c-903e-5e5f44ddae4e','tick','ticks','pending',0,470775570635948033,0,0,3,1795866286394,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:46.388Z","cron_triggered_at":"2026-11-28T11:44:46.394Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-dd67-7135-b725-b00184a127c5','tick','ticks','pending',0,470775571975241729,0,0,1,1795866287463,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:47.388Z","cron_triggered_at":"2026-11-28T11:44:47.463Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-e106-7509-a344-8f7a61a9dc23','tick','ticks','pending',0,470775571976290305,0,0,1,1795866288390,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:48.388Z","cron_triggered_at":"2026-11-28T11:44:48.390Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-e4ed-748d-a333-1e15da011cdc','tick','ticks','pending',0,470775571976814593,0,0,1,1795866289389,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:49.388Z","cron_triggered_at":"2026-11-28T11:44:49.389Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
INSERT INTO jobs VALUES('01a221f8-e921-74cf-9f9d-758cd472d09d','tick','ticks','pending',0,470775572805713921,0,0,3,1795866290465,NULL,NULL,NULL,NULL,NULL,NULL,NULL,600000,NULL,NULL,'{}',NULL,NULL,'[]','{"cron_name":"tick","cron_scheduled_at":"2026-11-28T11:44:50.388Z","cron_triggered_at":"2026-11-28T11:44:50.465Z"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,118,NULL,0,NULL,NULL,NULL,'_default',NULL);
CREATE TABLE leases (
    job_id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    job_type TEXT NOT NULL,
    worker_id TEXT,
    attempt INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    deadline_at INTEGER,
    fetch_id TEXT
, stall_ms INTEGER, trace_id TEXT, running_at INTEGER, late_ack INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO leases VALUES('01a221f8-c8f5-71a4-bbcb-236c9846348a','reports','report.build','worker-1',1,3600000,1795869882231,NULL,'01a1f0c0-0000-7000-8000-0000000000f1',NULL,NULL,NULL,1);
INSERT INTO leases VALUES('01a221f8-c8fb-7279-9558-f31a1ba27cc7','lost','report.build','worker-3',2,3600000,1795869886416,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO leases VALUES('01a221f8-c901-7550-af2c-7d006ae48d85','default','zeebe.task','z',1,3600000,1795869890513,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO leases VALUES('01a221f8-c906-7324-9295-4aa5520c8164','sms','sms.send','worker-3',1,1800000,1795868082364,NULL,NULL,NULL,NULL,NULL,0);
CREATE TABLE limits (
    name TEXT NOT NULL PRIMARY KEY,
    policy TEXT NOT NULL,
    active INTEGER NOT NULL,
    starts TEXT NOT NULL,
    next_us INTEGER NOT NULL,
    held_until INTEGER,
    override TEXT,
    override_until INTEGER,
    waits_since INTEGER,
    opens_at INTEGER,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO limits VALUES('#queue:email','{}',0,'[]',0,NULL,NULL,NULL,NULL,NULL,1795866282191);
INSERT INTO limits VALUES('#tenant:acme','{"rate":[100,60000]}',0,'[[1795866282374,1]]',0,NULL,NULL,NULL,NULL,NULL,1795866282374);
INSERT INTO limits VALUES('sms-gateway','{"concurrency":1}',1,'[]',0,NULL,'{"concurrency":1}',1795869882371,1795866282364,1795869882371,1795866282371);
CREATE TABLE logins (
    token_hash TEXT NOT NULL,
    principal TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (token_hash)
) STRICT, WITHOUT ROWID;
INSERT INTO logins VALUES('8fda005706c6407ea008fe64fb2b92059789621ac8361974ae00f1abc2299a96','fc8f4cd5e3220ac3e09d73385c1afa3e',1795866282413,1795909482413);
CREATE TABLE maintenance (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    reason TEXT,
    since INTEGER NOT NULL,
    until INTEGER
) STRICT;
INSERT INTO maintenance VALUES(1,'database upgrade',1795866290517,1795868090517);
CREATE TABLE pools (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO pools VALUES('mail','{"queues":["email","sms"],"concurrency":20,"strategy":"weighted","weights":{"email":3,"sms":1}}',1795866282100,1795866282100);
CREATE TABLE progress (
    job_id TEXT NOT NULL PRIMARY KEY,
    attempt INTEGER NOT NULL,
    value REAL,
    message TEXT,
    data TEXT,
    checkpoint TEXT,
    updated_at INTEGER NOT NULL,
    told_at INTEGER NOT NULL
) STRICT;
INSERT INTO progress VALUES('01a221f8-c8f5-71a4-bbcb-236c9846348a',1,0.75,'"three quarters"','{"rows":750}',NULL,1795866282232,1795866282232);
CREATE TABLE provider_results (
    provider_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    until INTEGER NOT NULL,
    content BLOB,
    PRIMARY KEY (provider_id, request_hash)
) STRICT;
INSERT INTO provider_results VALUES('49c0164d-d4f2-5798-a7ee-00091dcef244','20d177cb910b5e6675e1312466cb0013990b799b0360fdff1aa7377acd131a70',1795866317603,NULL);
CREATE TABLE providers (
    id TEXT NOT NULL,
    room TEXT NOT NULL,
    category TEXT NOT NULL,
    name TEXT NOT NULL,
    schema BLOB NOT NULL,
    content_type TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    principal TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT, WITHOUT ROWID;
INSERT INTO providers VALUES('49c0164d-d4f2-5798-a7ee-00091dcef244','lab','sensors','Angle',X'7B2274797065223A226F626A656374227D','application/json','worker-1','fc8f4cd5e3220ac3e09d73385c1afa3e',1795866287590);
CREATE TABLE queue_counts (
    queue TEXT NOT NULL,
    node TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    scheduled INTEGER NOT NULL,
    available INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    active INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    retryable INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    discarded INTEGER NOT NULL, bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;
INSERT INTO queue_counts VALUES('_default/','local',1795866282191,1,15,8,4,3,1,1,2,1493);
INSERT INTO queue_counts VALUES('_default/blackboard','local',1795866282412,0,1,0,0,0,0,0,0,74);
INSERT INTO queue_counts VALUES('_default/default','local',1795866282241,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('_default/email','local',1795866282191,1,0,1,0,1,1,1,2,314);
INSERT INTO queue_counts VALUES('_default/flows','local',1795866282390,0,1,0,0,1,0,0,0,6);
INSERT INTO queue_counts VALUES('_default/flows2','local',1795866282399,0,0,0,0,1,0,0,0,0);
INSERT INTO queue_counts VALUES('_default/lab','local',1795866282407,0,1,0,0,0,0,0,0,308);
INSERT INTO queue_counts VALUES('_default/lost','local',1795866282235,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('_default/reports','local',1795866282229,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('_default/reports-nightly','local',1795866282386,0,1,0,0,0,0,0,0,166);
INSERT INTO queue_counts VALUES('_default/sms','local',1795866282246,0,2,0,1,0,0,0,0,150);
INSERT INTO queue_counts VALUES('_default/ticks','local',1795866283389,0,1,7,0,0,0,0,0,118);
INSERT INTO queue_counts VALUES('_default/waiting','local',1795866282194,0,8,0,0,0,0,0,0,357);
INSERT INTO queue_counts VALUES('acme/','local',1795866282374,0,1,0,0,0,0,0,0,37);
INSERT INTO queue_counts VALUES('acme/waiting','local',1795866282374,0,1,0,0,0,0,0,0,37);
INSERT INTO queue_counts VALUES('blackboard','local',1795866282412,0,1,0,0,0,0,0,0,74);
INSERT INTO queue_counts VALUES('default','local',1795866282241,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('email','local',1795866282191,1,0,1,0,1,1,1,2,314);
INSERT INTO queue_counts VALUES('flows','local',1795866282390,0,1,0,0,1,0,0,0,6);
INSERT INTO queue_counts VALUES('flows2','local',1795866282399,0,0,0,0,1,0,0,0,0);
INSERT INTO queue_counts VALUES('lab','local',1795866282407,0,1,0,0,0,0,0,0,308);
INSERT INTO queue_counts VALUES('lost','local',1795866282235,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('reports','local',1795866282229,0,0,0,1,0,0,0,0,0);
INSERT INTO queue_counts VALUES('reports-nightly','local',1795866282386,0,1,0,0,0,0,0,0,166);
INSERT INTO queue_counts VALUES('sms','local',1795866282246,0,2,0,1,0,0,0,0,150);
INSERT INTO queue_counts VALUES('ticks','local',1795866283389,0,1,7,0,0,0,0,0,118);
INSERT INTO queue_counts VALUES('waiting','local',1795866282194,0,9,0,0,0,0,0,0,394);
CREATE TABLE queues (
    name TEXT NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
, config TEXT, configured_at INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO queues VALUES('email',0,1795866282094,1795866282094,'{"bounds":{"depth":10000,"strategy":"reject","warning":0.8}}',1795866282094);
INSERT INTO queues VALUES('held',1,1795866282414,1795866282414,NULL,NULL);
INSERT INTO queues VALUES('limited',0,1795866282097,1795866282097,'{"policy":{"concurrency":1,"rate":[100,60000]}}',1795866282097);
INSERT INTO queues VALUES('paused',1,1795866282099,1795866282099,NULL,NULL);
CREATE TABLE receipts (
    principal TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    job_ids TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (principal, operation, key)
) STRICT;
INSERT INTO receipts VALUES('fc8f4cd5e3220ac3e09d73385c1afa3e','enqueue','order-4711',X'703518FABD298F933686CA9CDA1FE6B79AAE9651246239E39E18BCEB25FF061A','["01a221f8-c8ff-75c8-b9be-5c2ad1597ad2"]',1795866282239);
CREATE TABLE routings (
    type TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO routings VALUES('report.build','{"rules":[{"version":1,"weight":95},{"version":2,"weight":5}]}');
CREATE TABLE schemas (
    type TEXT NOT NULL,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    patch INTEGER NOT NULL,
    mode TEXT,
    digest BLOB NOT NULL,
    written TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    document TEXT NOT NULL, uri TEXT,
    PRIMARY KEY (type, major, minor, patch)
) STRICT;
INSERT INTO schemas VALUES('email.send',2,1,0,NULL,X'EEE7D1B4D77D018D445FB6B58562900DAA9F70E8F8C7DD5C31FA8E70C522027A','"2.1.0"',1795866282177,'{"type":"array","minItems":1}',NULL);
INSERT INTO schemas VALUES('email.send',3,0,0,'off',X'50A07657F887736E49B4D6425FCA4B26E4B127F850AF01E73F3F7DCF90D6BB11','"3"',1795866282183,'{"prefixItems":[{"type":"string"}]}',NULL);
CREATE TABLE statistics (
    step INTEGER NOT NULL,
    queue TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (step, queue, at, kind, bucket)
) STRICT;
INSERT INTO statistics VALUES(60000,'',1795866240000,'available',0,17);
INSERT INTO statistics VALUES(60000,'',1795866240000,'active',0,3);
INSERT INTO statistics VALUES(60000,'',1795866240000,'retryable',0,1);
INSERT INTO statistics VALUES(3600000,'',1795863600000,'available',0,17);
INSERT INTO statistics VALUES(3600000,'',1795863600000,'active',0,3);
INSERT INTO statistics VALUES(3600000,'',1795863600000,'retryable',0,1);
INSERT INTO statistics VALUES(60000,'',1795866240000,'enqueued',0,27);
INSERT INTO statistics VALUES(60000,'',1795866240000,'failed',0,4);
CREATE TABLE tenants (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO tenants VALUES('acme','{"max_concurrency":5,"max_enqueue_rate":[100,60000],"fairness_weight":2}',1795866282105,1795866282105);
CREATE TABLE webhooks (
    id TEXT NOT NULL PRIMARY KEY,
    url TEXT NOT NULL,
    wish TEXT NOT NULL,
    active INTEGER NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_until INTEGER,
    cursor INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
, tenant TEXT) STRICT, WITHOUT ROWID;
INSERT INTO webhooks VALUES('sub_01a221f8-c8c9-7300-93d1-0a69b7293d93','http://127.0.0.1:39472/takes','{"events":["job.completed"],"queues":[],"job_types":[],"metadata":{"team":"growth"},"format":"ojs"}',1,'whsec_ni06FHiiNYLUW2iMtMm3mzF7GTX5EcqRviuTkJWAOwA',NULL,NULL,470775570631753730,1795866282185,1795866282185,NULL);
INSERT INTO webhooks VALUES('sub_01a221f8-c8ce-743c-a5d2-63717996accf','http://127.0.0.1:39472/fails','{"events":["job.discarded"],"queues":[],"job_types":[],"metadata":{},"format":"ojs"}',1,'a-shared-secret',NULL,NULL,470775570631753730,1795866282190,1795866282190,NULL);
CREATE TABLE worker_kinds (
    worker_id TEXT NOT NULL,
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (worker_id, room, name)
) STRICT, WITHOUT ROWID;
INSERT INTO worker_kinds VALUES('worker-1','','configBackup');
CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    draining INTEGER NOT NULL,
    directive TEXT,
    incarnation INTEGER NOT NULL,
    alive_at INTEGER,
    beat_at INTEGER,
    seen_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    gone_at INTEGER,
    profile TEXT NOT NULL
, presence TEXT NOT NULL DEFAULT 'online', deleted_at INTEGER, principal TEXT, session INTEGER NOT NULL DEFAULT 0, dropped_at INTEGER, died INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO workers VALUES('worker-1','running',0,NULL,1,1795866286423,1795866286423,1795866286423,1795866282090,NULL,'{"hostname":"node-7","pid":4711,"queues":["critical","email"],"concurrency":10,"labels":["region:us-east-1"],"job_types":["email.send"],"version":"2.1.0","metadata":{"zone":"b"}}','online',NULL,'fc8f4cd5e3220ac3e09d73385c1afa3e',0,NULL,0);
INSERT INTO workers VALUES('worker-2','running',0,NULL,1,NULL,NULL,1795866282236,1795866282236,NULL,'{}','online',NULL,NULL,0,NULL,0);
INSERT INTO workers VALUES('worker-3','running',0,NULL,1,NULL,NULL,1795866282364,1795866282364,NULL,'{}','online',NULL,NULL,0,NULL,0);
INSERT INTO workers VALUES('worker-gone','terminated',0,NULL,1,1795866286431,NULL,1795866286431,1795866286431,1795866286435,'{"queues":["email"],"concurrency":1}','offline',NULL,'fc8f4cd5e3220ac3e09d73385c1afa3e',0,NULL,0);
INSERT INTO workers VALUES('z','running',0,NULL,1,NULL,NULL,1795866290513,1795866290513,NULL,'{}','online',NULL,NULL,0,NULL,0);
CREATE TABLE workflow_jobs (
    workflow_id TEXT NOT NULL,
    node INTEGER NOT NULL,
    request TEXT,
    job_id TEXT,
    result TEXT,
    error TEXT,
    ended_at INTEGER,
    PRIMARY KEY (workflow_id, node)
) STRICT;
INSERT INTO workflow_jobs VALUES('01a221f8-c996-7784-b97c-9c8143f46867',1,NULL,'01a221f8-c996-7784-b97c-9c81eef13134','{"rows":12}',NULL,1795866282393);
INSERT INTO workflow_jobs VALUES('01a221f8-c996-7784-b97c-9c8143f46867',2,NULL,'01a221f8-c999-72cd-8d98-2b1eb2583c6f',NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c996-7784-b97c-9c8143f46867',3,'{"type":"report.close","args":[],"options":{"queue":"flows"}}',NULL,NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c99c-751f-907f-c8624d217e6b',1,NULL,'01a221f8-c99c-751f-907f-c8627d4eeb04',NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c99c-751f-907f-c8624d217e6b',2,NULL,'01a221f8-c99c-751f-907f-c8636e78f4c6',NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c99e-70c0-ac96-0b20ceec5d3e',1,NULL,'01a221f8-c99e-70c0-ac96-0b20e8077d3a',NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c99e-70c0-ac96-0b20ceec5d3e',2,'{"type":"mail.report","args":[],"options":{"queue":"waiting"}}',NULL,NULL,NULL,NULL);
INSERT INTO workflow_jobs VALUES('01a221f8-c99f-7103-b81a-cd773ff0ac5b',1,NULL,'01a221f8-c99f-7103-b81a-cd78024bdbef',NULL,NULL,1795866282402);
CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    plan TEXT NOT NULL,
    progress TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    due_at INTEGER,
    request_hash BLOB
, tenant TEXT) STRICT;
INSERT INTO workflows VALUES('01a221f8-c996-7784-b97c-9c8143f46867','nightly','chain','running','{"nodes":[{"id":"","kind":"chain","members":[1,2,3]},{"id":"0","scope":0,"job_type":"report.load"},{"id":"1","scope":0,"needs":[1],"job_type":"report.send"},{"id":"2","scope":0,"needs":[2],"job_type":"report.close"}]}','acpw',1795866282390,NULL,NULL,NULL,NULL);
INSERT INTO workflows VALUES('01a221f8-c99c-751f-907f-c8624d217e6b',NULL,'group','running','{"nodes":[{"id":"","kind":"group","members":[1,2]},{"id":"0","scope":0,"job_type":"image.scale"},{"id":"1","scope":0,"job_type":"image.scale"}]}','app',1795866282396,NULL,NULL,NULL,NULL);
INSERT INTO workflows VALUES('01a221f8-c99e-70c0-ac96-0b20ceec5d3e',NULL,'batch','running','{"nodes":[{"id":"","kind":"batch","members":[1],"callbacks":[2]},{"id":"0","scope":0,"job_type":"mail.send"},{"id":"on_complete","scope":0,"needs":[1],"fires":"on_complete","job_type":"mail.report"}]}','apw',1795866282398,NULL,NULL,NULL,NULL);
INSERT INTO workflows VALUES('01a221f8-c99f-7103-b81a-cd773ff0ac5b',NULL,'chain','completed','{"nodes":[{"id":"","kind":"chain","members":[1]},{"id":"0","scope":0,"job_type":"short"}]}','cc',1795866282399,1795866282402,1796471082402,NULL,NULL);
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_dead ON jobs (finished_at, id) WHERE state = 'discarded';
CREATE INDEX leases_expiry ON leases (expires_at);
CREATE INDEX leases_deadline ON leases (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX leases_worker ON leases (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX leases_fetch ON leases (fetch_id) WHERE fetch_id IS NOT NULL;
CREATE INDEX workers_alive ON workers (alive_at) WHERE gone_at IS NULL AND alive_at IS NOT NULL;
CREATE INDEX workers_gone ON workers (gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX receipts_age ON receipts (created_at);
CREATE INDEX cron_due ON cron (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX cron_held ON cron (name) WHERE held > 0;
CREATE INDEX cron_runs_name ON cron_runs (name, pos);
CREATE INDEX cron_runs_held ON cron_runs (name, pos) WHERE held = 1;
CREATE INDEX jobs_unique ON jobs (unique_key, state, created_at) WHERE unique_key IS NOT NULL;
CREATE INDEX workflows_list ON workflows (created_at, id);
CREATE INDEX workflows_state ON workflows (state, created_at, id);
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
CREATE INDEX jobs_rate ON jobs (rate_key, state, queue, type, priority DESC, seq)
    WHERE rate_key IS NOT NULL;
CREATE INDEX jobs_gated ON jobs (queue, seq) WHERE state = 'available' AND gated = 1;
CREATE INDEX limits_opening ON limits (opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX limits_used ON limits (used_at);
CREATE INDEX jobs_dead_queue ON jobs (queue, finished_at, id, state) WHERE state = 'discarded';
CREATE INDEX jobs_dead_error ON jobs (error_type, finished_at, id, state) WHERE state = 'discarded';
CREATE INDEX jobs_dead_kept ON jobs (queue, finished_at, id) WHERE state = 'discarded' AND kept;
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, event_id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_age ON deliveries (created_at, id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, created_at, id);
CREATE INDEX deliveries_status ON deliveries (status, created_at, id);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX statistics_age ON statistics (step, at);
CREATE INDEX jobs_demand ON jobs (queue, demand, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND demand IS NOT NULL;
CREATE INDEX jobs_tenant_claim ON jobs (queue, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
CREATE INDEX jobs_tenant_claim_type ON jobs (queue, type, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
CREATE INDEX jobs_tenant ON jobs (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX jobs_tenant_dead ON jobs (tenant, finished_at, id)
    WHERE state = 'discarded' AND tenant IS NOT NULL;
CREATE INDEX job_kinds_type ON job_kinds (type);
CREATE INDEX worker_kinds_kind ON worker_kinds (room, name);
CREATE INDEX workflows_tenant ON workflows (tenant, created_at, id) WHERE tenant IS NOT NULL;
CREATE INDEX deliveries_tenant ON deliveries (tenant, created_at, id) WHERE tenant IS NOT NULL;
CREATE INDEX workers_dropped ON workers (dropped_at)
    WHERE gone_at IS NULL AND dropped_at IS NOT NULL;
CREATE INDEX jobs_parked ON jobs (state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_unique_held ON jobs (id)
    WHERE unique_key IS NOT NULL
    AND state <> 'completed' AND state <> 'cancelled' AND state <> 'discarded';
CREATE INDEX jobs_promotion ON jobs (queue, due_at)
    WHERE state = 'scheduled' OR state = 'retryable';
CREATE UNIQUE INDEX schemas_uri ON schemas (uri) WHERE uri IS NOT NULL;
CREATE INDEX jobs_scheduled ON jobs (scheduled_at, id) WHERE state = 'scheduled';
CREATE INDEX providers_room ON providers (room, created_at);
CREATE INDEX providers_worker ON providers (worker_id);
CREATE INDEX provider_results_until ON provider_results (until);
CREATE INDEX logins_expiry ON logins (expires_at);
CREATE INDEX actions_at ON actions (at);
PRAGMA user_version = 37;
COMMIT;
