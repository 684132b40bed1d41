/** The S3-compatible store, whose code loads at its first use. */
import { onFirstUse } from "../../core/lazy.ts";
import type { ContentStore } from "./contents.ts";
import type { S3Services, S3Setting } from "./s3-setting.ts";

const loadS3 = onFirstUse(() => import("./s3-contents.ts"));

export function lazyS3Contents(setting: S3Setting, services: S3Services): ContentStore {
	let made: ContentStore | undefined;
	const contents = async (): Promise<ContentStore> => {
		const { s3Contents } = await loadS3();
		made ??= s3Contents(setting, services);
		return made;
	};
	return {
		store: "s3",
		place: { store: new URL(setting.endpoint).host, bucket: setting.bucket, setting: "STORAGE.s3" },
		write: async (name, parts) => (await contents()).write(name, parts),
		read: async (name, range) => (await contents()).read(name, range),
		delete: async (names) => (await contents()).delete(names),
		abandon: async (names) => (await contents()).abandon?.(names),
	};
}
