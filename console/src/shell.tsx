import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useRef } from "react";
import { NavLink, Outlet, useLocation } from "react-router";
import icon from "./icon.svg";
import { ErrorBoundary } from "./parts/error-boundary.tsx";
import { CONTENT_ID, focusIfLost } from "./parts/focus.ts";
import { PageProgress, useSlowPage } from "./parts/page-progress.tsx";
import { AccountPicker } from "./session/account-picker.tsx";
import { useSession } from "./session/session.ts";

const PAGES = [
	["/playground", "Playground"],
	["/models", "Models"],
	["/usage", "Usage"],
	["/requests", "Requests"],
	["/gateways", "Gateways"],
	["/tokens", "Tokens"],
	["/adapters", "Adapters"],
	["/batches", "Batches"],
	["/replays", "Replays"],
	["/search", "Search"],
	["/vectors", "Vectors"],
	["/engines", "Engines"],
	["/local-models", "Local models"],
] as const;

/** They need the operator's token. */
const OPERATOR_PAGES: readonly string[] = ["/engines", "/local-models"];

export default function Shell() {
	const { session, signOut } = useSession();
	const { pathname } = useLocation();
	const page = pageOf(pathname);
	const content = useFocusOfPage(pathname);
	const isSlow = useSlowPage();
	return (
		<>
			<a className="skip" href={`#${CONTENT_ID}`}>
				Skip to the content
			</a>
			<header className="bar">
				<span className="brand">
					<img src={icon} alt="" width="20" height="20" /> Ganglion
				</span>
				<nav aria-label="Pages">
					{PAGES.filter(([path]) => session.access !== "account" || !OPERATOR_PAGES.includes(path)).map(
						([path, title]) => (
							<NavLink
								key={path}
								to={path}
								className={({ isActive }) => (isActive ? "bar-link active" : "bar-link")}
							>
								{title}
							</NavLink>
						),
					)}
				</nav>
				<div className="bar-end">
					<AccountPicker />
					{session.access !== "open" && (
						<Button variant="ghost" size="sm" onClick={signOut}>
							Sign out
						</Button>
					)}
				</div>
			</header>
			<PageProgress shown={isSlow} />
			<main id={CONTENT_ID} tabIndex={-1} ref={content} aria-busy={isSlow}>
				{/* The pages of another account start again. The account's control stays. */}
				<ErrorBoundary key={`${session.account} ${page}`} place={pathname}>
					<Outlet />
				</ErrorBoundary>
			</main>
			<footer>
				<a href="/docs">API reference</a>
				<a href="/openapi.json">OpenAPI</a>
				<a href="/console/notices.txt">Licences</a>
			</footer>
		</>
	);
}

const pageOf = (pathname: string): string | undefined => pathname.split("/")[1];

/**
 * Moves the focus to the content of another page, so that a screen reader and the keyboard go on there. A control that leads to
 * another part of its page keeps the focus, if it is still there.
 */
function useFocusOfPage(pathname: string) {
	const content = useRef<HTMLElement>(null);
	const shown = useRef(pathname);
	useEffect(() => {
		if (pageOf(shown.current) !== pageOf(pathname)) content.current?.focus({ preventScroll: true });
		else if (shown.current !== pathname) focusIfLost(content.current);
		shown.current = pathname;
		// On a narrow screen the links scroll.
		document.querySelector("nav .active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	}, [pathname]);
	return content;
}
