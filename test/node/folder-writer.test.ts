/** The process that writes adapters into the folders of engines. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
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
	const sent = request(`${writer.address}/gpus/${ID}/adapter_config.json`, { method: "PUT" });
	sent.on("error", () => {});
	sent.write("{");
	await expect.poll(() => (existsSync(join(folder, ID)) ? readdirSync(join(folder, ID)).length : 0)).toBe(1);
	sent.destroy();
	await expect.poll(() => readdirSync(join(folder, ID))).toEqual([]);
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
