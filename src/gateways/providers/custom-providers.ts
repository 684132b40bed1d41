/** Providers that an account registers: an address that its gateways call as `custom-{slug}`. */
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";

const PREFIX = "custom-";

/** The name of the provider in paths, models and keys. */
export const customName = (slug: string): string => `${PREFIX}${slug}`;

/** The slug of a custom provider in the name of a provider. */
export const customSlug = (provider: string): string | undefined =>
	provider.startsWith(PREFIX) ? provider.slice(PREFIX.length) : undefined;

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]{1,128}$/;
export const HeaderValue = lazy(() =>
	z.string().regex(/^[\x20-\x7e]{0,8192}$/, "expected up to 8192 visible ASCII characters and spaces"),
);
const text = (length: number) => z.string().max(length).nullish();

const BaseUrl = lazy(() =>
	z
		.string()
		.max(2_048)
		.transform((address, context) => {
			const url = URL.parse(address);
			const refuse = (message: string) => {
				context.addIssue(message);
				return z.NEVER;
			};
			if (!url || !/^https?:$/.test(url.protocol))
				return refuse("expected an address that begins with https://");
			if (url.username || url.password || /[?#]/.test(address))
				return refuse("expected an address without credentials, query and fragment");
			return url.href.replace(/\/+$/, "");
		}),
);

/** Headers of requests to an address of the account. */
export const HeaderValues = lazy(() =>
	z.record(z.string(), HeaderValue()).superRefine((headers, { addIssue }) => {
		for (const name of Object.keys(headers))
			if (!HEADER_NAME.test(name)) addIssue({ code: "custom", message: "expected names of headers" });
	}),
);
const MAX_HEADERS_TEXT = 64 * 1024;

const fields = lazy(() => ({
	name: z.string().min(1).max(256),
	base_url: BaseUrl(),
	enable: z.boolean(),
	beta: z.boolean().optional(),
	description: text(2_048),
	link: text(2_048),
	/** Sent with each request. The product's SDK writes them as JSON text. */
	headers: z
		.union([HeaderValues(), z.string().max(MAX_HEADERS_TEXT).transform(parseJson).pipe(HeaderValues())])
		.nullish(),
	curl_example: text(16_384),
	js_example: text(16_384),
	position: z.int32().optional(),
	logo: text(32_768),
}));

export const CustomProviderCreate = lazy(() =>
	z.object({
		...fields(),
		enable: z.boolean().default(false),
		slug: z
			.string()
			.regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, "expected letters, digits and -, up to 64"),
	}),
);
export type CustomProviderCreate = z.infer<ReturnType<typeof CustomProviderCreate>>;
export const CustomProviderUpdate = lazy(() => z.object(fields()).partial());
export type CustomProviderUpdate = z.infer<ReturnType<typeof CustomProviderUpdate>>;

export interface CustomProvider extends CustomProviderCreate {
	id: string;
	/** Epoch milliseconds. */
	createdAt: number;
	modifiedAt: number;
}
