/** The operator's token of the bench, and tokens of accounts. */
export const ADMIN_TOKEN = "the-admin-token-of-a-bench-on-loopback";

/** `origin`: the gateway's address. */
export async function createToken(origin: string, account: string): Promise<string> {
	const response = await fetch(`${origin}/client/v4/accounts/${account}/tokens`, {
		method: "POST",
		headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
		body: JSON.stringify({
			name: "bench",
			policies: [
				{
					effect: "allow",
					resources: { [`com.cloudflare.api.account.${account}`]: "*" },
					permission_groups: [{ id: "a92d2450e05d4e7bb7d0a64968f83d11" }],
				},
			],
		}),
	});
	const { result } = (await response.json()) as { result?: { value?: string } };
	if (!result?.value) throw new Error(`no token: HTTP ${response.status}`);
	return result.value;
}
