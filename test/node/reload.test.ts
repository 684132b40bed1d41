/** When a gateway reads its settings again, and what it reports. */
import { once } from "node:events";
import {
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reloadOnChange } from "../../scripts/reload.ts";

type Process = ReturnType<Parameters<typeof reloadOnChange>[0]["processes"]>[number];

let folder = "";
let gateway: Server;
let received: unknown[] = [];
let close = () => {};
beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-reload-"));
	received = [];
	gateway = createServer(async (request, response) => {
		received.push(JSON.parse(await text(request)));
		response.writeHead(204).end();
	}).listen(join(folder, "reload.sock"));
	await once(gateway, "listening");
});
afterEach(() => {
	close();
	process.removeAllListeners("SIGHUP");
	gateway.close();
	rmSync(folder, { recursive: true, force: true });
});

/** `messages`: each reload and each refusal. `others`: processes beside the gateway. */
function watchFile(file: string, others: readonly Process[] = []): { messages: string[]; reload(): void } {
	const messages: string[] = [];
	let reload = (): void => {};
	const read = () => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
	const watcher = reloadOnChange({
		file,
		processes: () => [{ reloadSocket: join(folder, "reload.sock"), ended: new Promise(() => {}) }, ...others],
		started: read(),
		read,
		whenChanged: (listener) => {
			reload = listener;
		},
		applied: (_, isReported) => void messages.push(isReported ? "applied, reported" : "applied"),
		refused: () => void messages.push("refused"),
	});
	close = () => watcher.close();
	return { messages, reload };
}

describe("a reload", () => {
	it("is reported when settings with a mistake become the old ones again", async () => {
		const file = join(folder, "ganglion.jsonc");
		writeFileSync(file, '{"A":"1"}');
		const { messages } = watchFile(file);
		writeFileSync(file, "{");
		await expect.poll(() => messages).toEqual(["refused"]);
		writeFileSync(file, '{"A":"1"}');
		await expect.poll(() => messages).toEqual(["refused", "applied"]);
		expect(received).toEqual([{ A: "1" }]);
	});

	it("does not fail for a process that ends meanwhile, because that gets the settings when it is started again", async () => {
		const file = join(folder, "ganglion.jsonc");
		writeFileSync(file, '{"A":"1"}');
		const reloadSocket = join(folder, "killed.sock");
		const { promise: ended, resolve: end } = Promise.withResolvers<void>();
		const killed = createServer((request) => {
			request.socket.destroy();
			setTimeout(end, 20);
		}).listen(reloadSocket);
		await once(killed, "listening");
		const { messages } = watchFile(file, [{ reloadSocket, ended }]);
		writeFileSync(file, '{"A":"2"}');
		await expect.poll(() => messages).toEqual(["applied"]);
		killed.close();
	});

	it("fails for a process that runs and cannot be reached", async () => {
		const file = join(folder, "ganglion.jsonc");
		writeFileSync(file, '{"A":"1"}');
		const reloadSocket = join(folder, "nothing.sock");
		const { messages } = watchFile(file, [{ reloadSocket, ended: new Promise(() => {}) }]);
		writeFileSync(file, '{"A":"2"}');
		await expect.poll(() => messages).toEqual(["refused"]);
	});

	it("of other things than files is marked as reported", async () => {
		const file = join(folder, "ganglion.jsonc");
		writeFileSync(file, '{"A":"1"}');
		const { messages, reload } = watchFile(file);
		reload();
		await expect.poll(() => messages).toEqual(["applied, reported"]);
		expect(received).toEqual([{ A: "1" }]);
	});

	it("follows a change of a mounted ConfigMap, which replaces a link of the folder", async () => {
		const mount = join(folder, "mount");
		for (const [version, value] of [
			["..v1", "1"],
			["..v2", "2"],
		] as const) {
			mkdirSync(join(mount, version), { recursive: true });
			writeFileSync(join(mount, version, "ganglion.jsonc"), JSON.stringify({ A: value }));
		}
		symlinkSync("..v1", join(mount, "..data"));
		symlinkSync("..data/ganglion.jsonc", join(mount, "ganglion.jsonc"));
		const { messages } = watchFile(join(mount, "ganglion.jsonc"));
		symlinkSync("..v2", join(mount, "..data_tmp"));
		renameSync(join(mount, "..data_tmp"), join(mount, "..data"));
		await expect.poll(() => messages).toEqual(["applied"]);
		expect(received).toEqual([{ A: "2" }]);
	});
});
