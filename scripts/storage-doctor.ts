/** `ganglion doctor`: whether the store of objects works. */
import { setTimeout as wait } from "node:timers/promises";
import type { Config } from "../src/config/index.ts";
import { checkContents, StoreCheckFailure } from "../src/storage/blobs/check-contents.ts";
import { s3Contents } from "../src/storage/blobs/s3-contents.ts";
import type { Finding } from "./engines/doctor.ts";

/** Needs only the settings: a bucket of a binding exists in the runtime only. */
export async function examineStorage({ storage }: Pick<Config, "storage">): Promise<Finding[]> {
	const { s3 } = storage;
	if (!s3) {
		const detail = "objects are in the state (SQLite); no STORAGE.s3 is set";
		return [{ backend: "this machine", url: "", check: "storage", result: "ok", detail }];
	}
	const finding = (result: Finding["result"], detail: string): Finding => ({
		...{ backend: "STORAGE.s3", url: s3.endpoint, check: "storage" },
		...{ result, detail },
	});
	const contents = s3Contents(s3, { fetch, wait: (milliseconds) => wait(milliseconds) });
	try {
		await checkContents(contents);
		return [finding("ok", `bucket ${s3.bucket}: an object was put, read and deleted`)];
	} catch (error) {
		if (!(error instanceof StoreCheckFailure)) throw error;
		return [finding("failed", `bucket ${s3.bucket}: ${error.step} failed: ${error.message}`)];
	}
}
