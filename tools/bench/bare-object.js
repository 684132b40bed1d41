// The floor of requests that are stored: an object of the account stores a row, then the Worker passes the request on.
import { DurableObject } from "cloudflare:workers";

export class Account extends DurableObject {
	constructor(state, env) {
		super(state, env);
		state.storage.sql.exec("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, at INTEGER)");
	}

	store() {
		this.ctx.storage.sql.exec("INSERT INTO requests (at) VALUES (?)", Date.now());
	}
}

export default {
	async fetch(request, env) {
		const { pathname, searchParams } = new URL(request.url);
		await env.ACCOUNT.getByName(searchParams.get("account")).store();
		return fetch(env.UPSTREAM + pathname, request);
	},
};
