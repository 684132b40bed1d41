/** For clients that know no other address than Cloudflare's: their global `fetch` reaches the gateway instead. */
const ADDRESSES = ["https://gateway.ai.cloudflare.com", "https://api.cloudflare.com"];

const original = globalThis.fetch;

export function redirectCloudflare(origin: string): void {
	globalThis.fetch = (input, init) => {
		if (input instanceof Request) return original(new Request(redirected(input.url, origin), input), init);
		return original(redirected(String(input), origin), init);
	};
}

const redirected = (url: string, origin: string): string =>
	ADDRESSES.reduce((changed, address) => changed.replace(address, origin), url);
