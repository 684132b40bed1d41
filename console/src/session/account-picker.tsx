import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { type FormEvent, useState } from "react";
import { useSession } from "./session.ts";

/** No account can have this id. */
const NEW = "+";
const ACCOUNT_ID = "[A-Za-z0-9_\\-]{1,64}";

/** The account of the session. An operator may choose another, or begin a new one. */
export function AccountPicker() {
	const { session, setAccount } = useSession();
	const [isNew, setIsNew] = useState(false);
	if (session.access === "account")
		return (
			<span className="account" title="Account">
				{session.account}
			</span>
		);
	const accounts = [...new Set([session.account, ...session.accounts])].sort();
	const choose = (account: string | null): void => {
		setIsNew(account === NEW);
		if (account !== null && account !== NEW) setAccount(account);
	};
	const items = {
		...Object.fromEntries(accounts.map((account) => [account, account])),
		[NEW]: "New account…",
	};
	return (
		<>
			<Select aria-label="Account" size="sm" value={session.account} onValueChange={choose} items={items} />
			{isNew && <NewAccount onAccount={choose} />}
		</>
	);
}

/** An account exists from the first call of the operator on. */
function NewAccount({ onAccount }: { onAccount(account: string | null): void }) {
	const [id, setId] = useState("");
	const submit = (event: FormEvent): void => {
		event.preventDefault();
		onAccount(id);
	};
	return (
		<form className="buttons" onSubmit={submit}>
			<Input
				aria-label="Id of the new account"
				placeholder="team-a"
				size="sm"
				autoFocus
				required
				pattern={ACCOUNT_ID}
				title="1 to 64 letters, digits, _ and -"
				value={id}
				onChange={(event) => setId(event.target.value)}
			/>
			<Button type="submit" size="sm" variant="primary">
				Create
			</Button>
			<Button type="button" size="sm" onClick={() => onAccount(null)}>
				Cancel
			</Button>
		</form>
	);
}
