/** The one thing that a client needs which knows no other address than Cloudflare's. */
const CLOUDFLARE_API = "https://api.cloudflare.com/client/v4";

/** A `fetch` that asks the gateway what is meant for Cloudflare's API, and asks everybody else as ever. */
export function redirecting(baseURL: string, fetch = globalThis.fetch): typeof globalThis.fetch {
	return (input, init) => {
		if (input instanceof Request) throw new TypeError("expected an address, as the clients give");
		return fetch(String(input).replace(CLOUDFLARE_API, baseURL), init);
	};
}
