/**
 * The load that a process can accept with its limit of open files. The runtime exits when it cannot open a file, and loses all
 * requests under way. Measured with workerd: a stream holds 4 files (the sockets of the caller and of the engine), a
 * Durable Object 3 until it has been idle for 10 seconds, and the process about 50.
 */
export interface Capacity {
	/** Requests under way at which the gateway refuses new ones, before the connections are used up. */
	requests: number;
	/** Durable Objects that are open at the same time, of all classes. */
	objects: number;
	/** Connections of callers. Each may have one request under way. */
	connections: number;
	/** Websockets. */
	sockets: number;
	/** Calls of collectors. */
	exports: number;
}

const OWN_FILES = 64;
const FILES_PER_REQUEST = 4;
const FILES_PER_OBJECT = 3;
/** The remaining files are a reserve, because settlements and alarms open objects too. */
const SHARE_OF_CONNECTIONS = 0.6;
const SHARE_OF_OBJECTS = 0.3;
const REQUESTS_PER_CONNECTION = 0.85;
const MAX_EXPORTS = 200;
/** A half of the reserve. A call holds a connection. */
const SHARE_OF_EXPORTS = 0.05;
/** A websocket may be silent for hours, so requests keep the other connections. */
const SOCKETS_PER_CONNECTION = 0.5;

/** Of the machine's memory: what the process buffers exists up to three times, in pieces, as a whole and as text. */
const SHARE_OF_MEMORY = 1 / 16;
const MIB = 1024 * 1024;
/** Enough for one large upload of each of two accounts. */
const MIN_BUFFERED_BYTES = 64 * MIB;
const MAX_BUFFERED_BYTES = 96 * MIB;

/** Vectors of indexes that are searched. The others are read from the disk. */
const SHARE_OF_VECTORS = 1 / 8;
const MIN_VECTOR_BYTES = 68 * MIB;
const MAX_VECTOR_BYTES = 768 * MIB;

const GIB = 1024 * MIB;
/** The bounds of `LIMITS` as parts of the disk, and the most bytes of each. */
const SHARES_OF_DISK = {
	log_bytes: [1 / 32, 4 * GIB],
	account_log_bytes: [1 / 16, 8 * GIB],
	account_cache_bytes: [1 / 64, GIB],
	run_bytes: [1 / 64, GIB],
	disk_reserve_bytes: [1 / 20, GIB],
} as const;
/** The tables of an object take some space without rows. */
export const MIN_KEPT_BYTES = MIB;

const UNLIMITED: Capacity = {
	requests: Number.POSITIVE_INFINITY,
	objects: Number.POSITIVE_INFINITY,
	connections: Number.POSITIVE_INFINITY,
	sockets: Number.POSITIVE_INFINITY,
	exports: MAX_EXPORTS,
};

/** `openFiles`: the limit of the process. Absent if the platform has none, as on Cloudflare. */
export function capacityOf(openFiles: number | undefined): Capacity {
	if (openFiles === undefined) return UNLIMITED;
	const free = Math.max(0, openFiles - OWN_FILES);
	const share = (part: number, files: number): number => Math.max(1, Math.floor((free * part) / files));
	const connections = share(SHARE_OF_CONNECTIONS, FILES_PER_REQUEST);
	return {
		requests: Math.ceil(connections * REQUESTS_PER_CONNECTION),
		objects: share(SHARE_OF_OBJECTS, FILES_PER_OBJECT),
		connections,
		sockets: Math.ceil(connections * SOCKETS_PER_CONNECTION),
		exports: Math.min(MAX_EXPORTS, share(SHARE_OF_EXPORTS, 1)),
	};
}

/** Bytes of requests and answers that a process buffers. `memory`: bytes of the machine for each process. */
export const bufferedBytesOf = (memory: number): number =>
	Math.floor(Math.min(MAX_BUFFERED_BYTES, Math.max(MIN_BUFFERED_BYTES, memory * SHARE_OF_MEMORY)));

/** Bytes of vectors that a process has in memory. `memory`: as of {@link bufferedBytesOf}. */
export const vectorBytesOf = (memory: number): number =>
	Math.floor(Math.min(MAX_VECTOR_BYTES, Math.max(MIN_VECTOR_BYTES, memory * SHARE_OF_VECTORS)));

/** Fields of `LIMITS`. `disk`: bytes of the disk with the objects. Absent: not known, as on Cloudflare. */
export function keptBytesOf(disk = Number.POSITIVE_INFINITY): Record<keyof typeof SHARES_OF_DISK, number> {
	const bytes = (name: keyof typeof SHARES_OF_DISK): number => {
		const [share, max] = SHARES_OF_DISK[name];
		return Math.floor(Math.max(MIN_KEPT_BYTES, Math.min(max, disk * share)));
	};
	return {
		log_bytes: bytes("log_bytes"),
		account_log_bytes: bytes("account_log_bytes"),
		account_cache_bytes: bytes("account_cache_bytes"),
		run_bytes: bytes("run_bytes"),
		disk_reserve_bytes: bytes("disk_reserve_bytes"),
	};
}
