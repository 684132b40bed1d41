/** The process that writes adapters into the folders of engines. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FolderWriter, startFolderWriter } from "../../scripts/adapters/folder-writer.ts";

const ID = "01a21cde-e160-7658-a0d4-78cb9cbbbed5";
const folder = mkdtempSync(join(tmpdir(), "ganglion-adapters-"));
let writer: FolderWriter;

beforeAll(async () => {
	writer = await startFolderWriter(() => new Map([["gpus", folder]]));
});
afterAll(() => {
	writer.stop();
	rmSync(folder, { recursive: true });
});

const call = async (method: string, path: string, body?: string): Promise<number> =>
	(await fetch(`${writer.address}${path}`, { method, ...(body !== undefined && { body }) })).status;

it("writes the files of an adapter, for other users too, and deletes them", async () => {
	const umask = process.umask(0o077);
	expect(await call("HEAD", `/gpus/${ID}`)).toBe(404);
	expect(await call("PUT", `/gpus/${ID}/adapter_config.json`, "{}")).toBe(204);
	expect(await call("HEAD", `/gpus/${ID}`)).toBe(404);
	expect(await call("PUT", `/gpus/${ID}/adapter_model.safetensors`, "weights")).toBe(204);
	expect(await call("HEAD", `/gpus/${ID}`)).toBe(200);
	process.umask(umask);
	const path = join(folder, ID);
	expect(readdirSync(path).toSorted()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
	expect(readFileSync(join(path, "adapter_model.safetensors"), "utf8")).toBe("weights");
	expect(statSync(path).mode & 0o777).toBe(0o755);
	expect(statSync(join(path, "adapter_config.json")).mode & 0o777).toBe(0o644);
	expect(await call("DELETE", `/${ID}`)).toBe(204);
	expect(existsSync(path)).toBe(false);
});

it("keeps nothing of a file that breaks off", async () => {
	const id = ID.replace("0", "2");
	const sent = request(`${writer.address}/gpus/${id}/adapter_config.json`, { method: "PUT" });
	sent.on("error", () => {});
	sent.write("{");
	await expect.poll(() => (existsSync(join(folder, id)) ? readdirSync(join(folder, id)).length : 0)).toBe(1);
	sent.destroy();
	await expect.poll(() => readdirSync(join(folder, id))).toEqual([]);
});

it("keeps nothing of an adapter that is deleted while it is written, and does not write it again", async () => {
	const id = ID.replace("0", "1");
	expect(await call("PUT", `/gpus/${id}/adapter_config.json`, "{}")).toBe(204);
	const path = join(folder, id);
	const sent = request(`${writer.address}/gpus/${id}/adapter_model.safetensors`, { method: "PUT" });
	const answered = once(sent, "response");
	sent.write("wei");
	await expect.poll(() => readdirSync(path).length).toBe(2);
	expect(await call("DELETE", `/${id}`)).toBe(204);
	sent.end("ghts");
	const [{ statusCode }] = await answered;
	expect(statusCode).toBe(410);
	expect(existsSync(path)).toBe(false);
	expect(await call("PUT", `/gpus/${id}/adapter_config.json`, "{}")).toBe(410);
	expect(existsSync(path)).toBe(false);
	expect(await call("HEAD", `/gpus/${id}`)).toBe(404);
});

it("removes at its start what a killed process has left for an hour, and nothing else", async () => {
	const path = join(folder, ID.replace("0", "3"));
	mkdirSync(path);
	const left = [".adapter_model.safetensors.", ".adapter_config.json."].map((name) => name + randomUUID());
	const names = ["adapter_config.json", ".notes", ...left];
	const hoursAgo = (hours: number): number => Date.now() / 1_000 - hours * 3_600;
	for (const name of names) writeFileSync(join(path, name), "{}");
	for (const name of names.slice(0, 3)) utimesSync(join(path, name), hoursAgo(2), hoursAgo(2));
	writeFileSync(join(folder, ".adapter_config.json.other"), "");
	// Both are read before the file that is removed.
	writeFileSync(join(folder, ID), "no folder");
	const noFile = `.adapter_config.json.${randomUUID()}`;
	mkdirSync(join(path, noFile));
	utimesSync(join(path, noFile), hoursAgo(2), hoursAgo(2));
	(
		await startFolderWriter(
			() =>
				new Map([
					["absent", join(folder, "absent")],
					["gpus", folder],
				]),
		)
	).stop();
	await expect.poll(() => existsSync(join(path, left[0] ?? ""))).toBe(false);
	const kept = [...names.filter((name) => name !== left[0]), noFile];
	expect(readdirSync(path).toSorted()).toEqual(kept.toSorted());
	for (const name of [".adapter_config.json.other", ID]) rmSync(join(folder, name));
});

it("deletes an adapter from the other folders, and reports it, if one folder cannot be written", async () => {
	const file = join(folder, "a-file");
	writeFileSync(file, "");
	const good = join(folder, "good");
	const broken = await startFolderWriter(
		() =>
			new Map([
				["broken", join(file, "adapters")],
				["good", good],
			]),
	);
	try {
		const put = { method: "PUT", body: "{}" };
		expect((await fetch(`${broken.address}/good/${ID}/adapter_config.json`, put)).status).toBe(204);
		expect((await fetch(`${broken.address}/${ID}`, { method: "DELETE" })).status).toBe(500);
		expect(readdirSync(good)).toEqual([]);
	} finally {
		broken.stop();
	}
});

it.each([
	["PUT", `/others/${ID}/adapter_config.json`],
	["PUT", `/gpus/${ID}/adapter_config.json.sh`],
	["PUT", `/gpus/..%2f${ID}/adapter_config.json`],
	["PUT", "/gpus/../adapter_config.json"],
	["POST", `/gpus/${ID}/adapter_config.json`],
	["GET", `/gpus/${ID}`],
	["DELETE", "/.."],
	["DELETE", "/gpus"],
])("refuses %s %s", async (method, path) => {
	expect(await call(method, path, method === "GET" ? undefined : "x")).toBe(404);
});

it("answers only at its secret path", async () => {
	const { origin } = new URL(writer.address);
	expect((await fetch(`${origin}/gpus/${ID}`, { method: "DELETE" })).status).toBe(404);
});
