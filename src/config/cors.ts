/** `CORS`: the origins of web pages that may read answers. */
import * as z from "zod";

const Origin = z.string().refine((text) => {
	const url = URL.parse(text);
	return text === "*" || (url !== null && /^https?:$/.test(url.protocol) && url.origin === text);
}, 'expected an origin like "https://app.example.com", or "*", found another text');

export const CorsSchema = z.strictObject({ origins: z.array(Origin).min(1) });
