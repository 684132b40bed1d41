import { describe, expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";

const KEYS = { S3_ACCESS_KEY_ID: "AKIAEXAMPLE", S3_SECRET_ACCESS_KEY: "wJalrXUtnFEMI" };
const S3 = {
	endpoint: "https://s3.eu-central-1.amazonaws.com/",
	bucket: "acme-ganglion",
	access_key_id: "S3_ACCESS_KEY_ID",
	secret_access_key: "S3_SECRET_ACCESS_KEY",
};

const problemsOf = (variables: object): string => {
	try {
		configure(variables);
	} catch (error) {
		return (error as Error).message;
	}
	return "";
};

describe("STORAGE", () => {
	it("has bounds by default", () => {
		const { accountBytes, queue, s3 } = configure({}).storage;
		expect(accountBytes).toEqual({ others: 5_368_709_120, accounts: new Map() });
		expect(queue).toEqual({ accountItems: 100_000, concurrency: 32, accountConcurrency: 8 });
		expect(s3).toBeUndefined();
	});

	it("has bounds for single accounts", () => {
		const STORAGE = { account_bytes: 1_000, accounts: { acme: { bytes: 5 } } };
		expect(configure({ STORAGE }).storage.accountBytes).toEqual({
			others: 1_000,
			accounts: new Map([["acme", 5]]),
		});
	});

	it("reads an S3-compatible store, with the secrets that it names", () => {
		expect(configure({ ...KEYS, STORAGE: { s3: S3 } }).storage.s3).toEqual({
			endpoint: "https://s3.eu-central-1.amazonaws.com",
			bucket: "acme-ganglion",
			accessKeyId: "AKIAEXAMPLE",
			secretAccessKey: "wJalrXUtnFEMI",
			region: "auto",
			prefix: "",
			pathStyle: true,
		});
	});

	it("lists mistakes with their fields, and quotes no secret", () => {
		const s3 = {
			...S3,
			endpoint: "s3.amazonaws.com",
			bucket: "Acme",
			secret_access_key: "wJalrXUtnFEMI",
			prefix: "a",
		};
		expect(problemsOf({ ...KEYS, STORAGE: { s3, account_bytes: 0 } })).toBe(`The configuration has 5 mistakes:
  STORAGE.s3.endpoint: expected the http or https address of an S3-compatible store, without the bucket, found another text
  STORAGE.s3.bucket: expected the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-', found another text
  STORAGE.s3.secret_access_key: expected the name of a secret that is set, found text that names no secret; set it in .dev.vars, in the environment or with \`wrangler secret put\`
  STORAGE.s3.prefix: expected a folder such as "ganglion/", found another text
  STORAGE.account_bytes: expected at least 1, found 0`);
	});
});
