/** The watch of the disk with the accounts, and the parts of a disk that are the bounds. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchDisk } from "../../../cli/disk-watch.ts";
import { diskOf, readDisk } from "../../../scripts/disk.ts";
import { keptBytesOf } from "../../../src/config/capacity.ts";
import { configure } from "../../../src/config/index.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-disk-"));
});
afterEach(() => {
	vi.useRealTimers();
	rmSync(folder, { recursive: true, force: true });
});

describe("the watch of the disk", () => {
	it("reports the space to the workers, and has one line for each change", async () => {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
		const socket = join(folder, "counts.sock");
		const reports: unknown[] = [];
		const worker = createServer(async (request, answer) => {
			reports.push(await json(request));
			answer.writeHead(204).end();
		}).listen(socket);
		await once(worker, "listening");
		const lines: string[] = [];
		let free = 500 * MIB;
		let failure: Error | undefined;
		let isBroken = false;
		const stop = watchDisk({
			folder: "/state",
			disk: { total: GIB, free },
			sockets: [socket],
			reserveBytes: () => 100 * MIB,
			log: { error: (line: string) => void lines.push(line) } as never,
			async read() {
				if (isBroken) throw Object.assign(new Error("statfs"), { code: "EIO" });
				return { total: GIB, free };
			},
			write: async () => failure,
		});
		const report = { name: "disk_bytes", limit: 924 * MIB, refused: 0 };
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 524 * MIB }] });
		free = 99 * MIB;
		await vi.advanceTimersByTimeAsync(2_000);
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 925 * MIB }] });
		expect(lines).toHaveLength(1);
		expect(lines[0]).toContain("The disk of /state has 99 MiB free. Below 100 MiB");
		free = 100 * MIB;
		await vi.advanceTimersByTimeAsync(1_000);
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 924 * MIB }] });
		expect(lines).toHaveLength(2);
		failure = Object.assign(new Error("write"), { code: "EROFS" });
		await vi.advanceTimersByTimeAsync(6_000);
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 924 * MIB, limit: 0 }] });
		expect(lines).toHaveLength(3);
		expect(lines[2]).toContain("/state cannot be written: the disk is read-only (EROFS)");
		failure = undefined;
		await vi.advanceTimersByTimeAsync(2_000);
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 924 * MIB }] });
		expect(lines).toHaveLength(4);
		isBroken = true;
		failure = Object.assign(new Error("write"), { code: "EIO" });
		await vi.advanceTimersByTimeAsync(2_000);
		await expect.poll(() => reports.at(-1)).toEqual({ counts: [{ ...report, used: 924 * MIB, limit: 0 }] });
		expect(lines).toHaveLength(5);
		stop();
		worker.close();
	});

	/** Each state of the disk lasts for 6 seconds. Returns the lines of the log. */
	async function linesOf(states: { free?: number; code?: string }[]): Promise<string[]> {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
		const lines: string[] = [];
		let current: (typeof states)[number] = {};
		const stop = watchDisk({
			...{ folder: "/state", disk: { total: GIB, free: 500 }, sockets: [], reserveBytes: () => 100 },
			log: { error: (line: string) => void lines.push(line) } as never,
			read: async () => ({ total: GIB, free: current.free ?? 500 }),
			write: async () =>
				current.code ? Object.assign(new Error("write"), { code: current.code }) : undefined,
		});
		await vi.advanceTimersByTimeAsync(0);
		for (current of states) await vi.advanceTimersByTimeAsync(6_000);
		stop();
		return lines;
	}

	it("names the reason why the folder cannot be written also if little is free", async () => {
		const lines = await linesOf([{ free: 99, code: "EROFS" }]);
		expect(lines[1]).toContain("/state cannot be written: the disk is read-only (EROFS)");
		expect(lines[1]).toContain("docs/operations.md#a-folder-that-cannot-be-written");
	});

	it("has one line of a disk without any space", async () => {
		expect(await linesOf([{ free: 0, code: "ENOSPC" }])).toEqual([expect.stringContaining("has 0 MiB free")]);
	});

	it.each(["EMFILE", "ENFILE"])("a write that finds no open file (%s) changes nothing", async (code) => {
		expect(await linesOf([{ code }])).toEqual([]);
		expect(await linesOf([{ code: "EACCES" }, { code }])).toHaveLength(1);
	});

	it.each(["read", "write"])(
		"a %s that hangs is a disk that cannot be written, until it answers",
		async (hanging) => {
			vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
			const lines: string[] = [];
			const { promise: hang, resolve: answer } = Promise.withResolvers<void>();
			const calls = { read: 0, write: 0 };
			const work = async (name: "read" | "write"): Promise<void> => {
				calls[name]++;
				if (name === hanging && calls[name] === 2) await hang;
			};
			const stop = watchDisk({
				...{ folder: "/state", disk: { total: GIB, free: 500 }, sockets: [], reserveBytes: () => 100 },
				log: { error: (line: string) => void lines.push(line) } as never,
				read: () => work("read").then(() => ({ total: GIB, free: 500 })),
				write: () => work("write").then(() => undefined),
			});
			await vi.advanceTimersByTimeAsync(20_000);
			expect(calls[hanging as "read"]).toBe(2);
			expect(lines).toEqual([
				expect.stringContaining(
					"/state cannot be written: the disk has not answered for 5 seconds. Nothing is",
				),
			]);
			answer();
			await vi.advanceTimersByTimeAsync(2_000);
			stop();
			expect(lines).toHaveLength(2);
			expect(lines[1]).toContain("The disk of /state can be written");
		},
	);

	it("a disk that is slow for some seconds changes nothing", async () => {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
		const lines: string[] = [];
		const stop = watchDisk({
			...{ folder: "/state", disk: { total: GIB, free: 500 }, sockets: [], reserveBytes: () => 100 },
			log: { error: (line: string) => void lines.push(line) } as never,
			read: async () => ({ total: GIB, free: 500 }),
			write: async () => {
				const { promise, resolve } = Promise.withResolvers<void>();
				let seconds = 0;
				const timer = setInterval(() => ++seconds === 4 && resolve(), 1_000);
				await promise;
				clearInterval(timer);
				return undefined;
			},
		});
		await vi.advanceTimersByTimeAsync(30_000);
		stop();
		expect(lines).toEqual([]);
	});

	it.each(["not/yet", "file/yet"])("reads the disk of a folder that does not exist: %s", async (name) => {
		writeFileSync(join(folder, "file"), "");
		const { total, free } = diskOf(join(folder, name));
		expect((await readDisk(join(folder, name))).total).toBe(total);
		expect(total).toBeGreaterThanOrEqual(free);
		expect(free).toBeGreaterThan(0);
	});
});

describe("the bounds of the disk", () => {
	it.each([
		[undefined, [4 * GIB, 8 * GIB, GIB, GIB, GIB]],
		[10_000 * GIB, [4 * GIB, 8 * GIB, GIB, GIB, GIB]],
		[32 * GIB, [GIB, 2 * GIB, GIB / 2, GIB / 2, GIB]],
		[10 * MIB, [MIB, MIB, MIB, MIB, MIB]],
	])("are parts of a disk of %s bytes", (disk, [log, accountLog, cache, run, reserve]) => {
		expect(keptBytesOf(disk)).toEqual({
			...{ log_bytes: log, account_log_bytes: accountLog, account_cache_bytes: cache },
			...{ run_bytes: run, disk_reserve_bytes: reserve },
		});
	});

	it("are settings of the operator", () => {
		const LIMITS = { log_bytes: 2 * MIB, disk_reserve_bytes: 0 };
		const { limits } = configure({ DISK_BYTES: String(32 * GIB), LIMITS });
		expect(limits).toMatchObject({
			...{ logBytes: 2 * MIB, accountLogBytes: 2 * GIB, accountCacheBytes: GIB / 2, runBytes: GIB / 2 },
			diskReserveBytes: 0,
		});
		expect(() => configure({ LIMITS: { log_bytes: 1_000 } })).toThrow("LIMITS.log_bytes");
	});
});
