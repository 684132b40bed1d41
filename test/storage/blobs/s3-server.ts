/** An S3-compatible store on this machine, for the tests that run where nothing can listen. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";
import type { TestProject } from "vitest/node";

declare module "vitest" {
	interface ProvidedContext {
		s3: string;
	}
}

export const BUCKET = "ganglion-tests";

/** @returns its address, and a function that stops it. */
export async function startS3(): Promise<{ url: string; stop(): Promise<void> }> {
	const directory = mkdtempSync(join(tmpdir(), "ganglion-s3-"));
	const server = new S3rver({
		address: "127.0.0.1",
		port: 0,
		silent: true,
		directory,
		configureBuckets: [{ name: BUCKET }],
	});
	const { port } = await server.run();
	return {
		url: `http://127.0.0.1:${port}`,
		async stop() {
			await server.close();
			rmSync(directory, { recursive: true, force: true });
		},
	};
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	const { url, stop } = await startS3();
	project.provide("s3", url);
	return stop;
}
