//! Who calls in tests: people, their keys, agents, and whoever nobody knows.

use std::{net::Ipv4Addr, sync::atomic::Ordering};

use guildhall_domain::ids::AgentId;
use guildhall_hall::peer_lookup::PeerOwner;
use serde_json::{Value, json};

use super::{
    ANOTHER_COMPUTER, IN_DOUBT, METRICS_TOKEN, OTHER_USER, PAGE, PASSWORD, PROCESSES, STRAY,
    TestHall, UNANSWERED, sign_in_cookie, text,
};
use crate::TestCaller;

impl TestHall {
    /// The owner at this computer, in mode `login` signed in.
    pub fn owner(&self) -> TestCaller {
        let (author, cookie) = self.owner.clone();
        TestCaller::new(self.address.clone(), Ipv4Addr::LOCALHOST, String::new())
            .signed_in(cookie, author)
    }

    /// Somebody at another computer who shows nothing.
    pub fn nobody(&self) -> TestCaller {
        TestCaller::new(self.address.clone(), ANOTHER_COMPUTER, String::new())
    }

    /// The same caller at another computer.
    pub fn elsewhere(&self, caller: &TestCaller) -> TestCaller {
        caller.clone().at(ANOTHER_COMPUTER)
    }

    /// Another person at another computer, who got an account from the owner, signed in and
    /// replaced the password.
    pub async fn person(&self, name: &str) -> TestCaller {
        let email = format!("{}@example.org", name.to_lowercase());
        let ask = json!({"email": email, "displayName": name});
        let made = self.owner().post("/api/auth/accounts", ask).await.ok(201);
        let invited = self
            .sign_in(&email, made["invitePassword"].as_str().unwrap())
            .await;
        let ask = json!({"current": made["invitePassword"], "next": PASSWORD});
        invited.post("/api/auth/password", ask).await.ok(204);
        invited
    }

    /// Signs in at another computer.
    pub async fn sign_in(&self, email: &str, password: &str) -> TestCaller {
        let ask = json!({"email": email, "password": password});
        let answer = self.nobody().post("/api/auth/login", ask).await;
        let cookie = sign_in_cookie(&answer);
        let account = answer.ok(200);
        self.nobody().signed_in(cookie, text(&account["authorId"]))
    }

    /// Makes an API key of this caller and returns its text.
    pub async fn key(&self, by: &TestCaller, label: &str) -> String {
        let made = by.post("/api/auth/keys", json!({"label": label})).await;
        text(&made.ok(201)["key"])
    }

    /// Somebody whose program runs as another user of this computer.
    pub fn stranger(&self) -> TestCaller {
        TestCaller::new(self.address.clone(), OTHER_USER, String::new())
    }

    /// Somebody of whose socket the kernel says nothing.
    pub fn unknown_socket_caller(&self) -> TestCaller {
        TestCaller::new(self.address.clone(), UNANSWERED, String::new())
    }

    /// A process below the server that belongs to no agent.
    pub fn stray(&self) -> TestCaller {
        TestCaller::new(self.address.clone(), STRAY, String::new())
    }

    /// A page in the local browser, with all that the owner shows.
    pub fn browser_page(&self) -> TestCaller {
        self.owner().at(PAGE)
    }

    /// Somebody at this computer who cannot be told from an agent.
    pub fn in_doubt(&self) -> TestCaller {
        TestCaller::new(self.address.clone(), IN_DOUBT, self.owner.0.clone())
    }

    /// A process of this agent's tree, which shows nothing.
    pub fn process_of(&self, agent: &TestCaller) -> TestCaller {
        let number = self.processes.fetch_add(1, Ordering::SeqCst);
        let source = Ipv4Addr::from_bits(PROCESSES.to_bits() + u32::from(number));
        let id = AgentId::parse(agent.agent()).expect("an agent");
        self.script.set(source.into(), PeerOwner::Agent(id));
        TestCaller::new(self.address.clone(), source, agent.author().to_owned())
    }

    /// Somebody at the owner's computer who shows an agent token that stands for nobody.
    pub fn unverifiable(&self) -> TestCaller {
        let unknown = format!("gha_{}", "x".repeat(43));
        self.owner().with_agent_token(&unknown)
    }

    /// The holder of the configured metrics token, as another user.
    pub fn watcher(&self) -> TestCaller {
        self.stranger()
            .with("authorization", &format!("Bearer {METRICS_TOKEN}"))
    }

    /// Registers an agent called `name` in a folder of its own and mints it a token.
    pub async fn agent(&self, name: &str) -> TestCaller {
        self.agent_of(json!({"name": name, "cwd": self.folder(name)}))
            .await
    }

    /// The same, for an agent that answers nobody, so that what is posted leads to no turn.
    pub async fn bystander(&self, name: &str) -> TestCaller {
        let ask = json!({"name": name, "cwd": self.folder(name), "responseMode": "silent"});
        self.agent_of(ask).await
    }

    /// An agent that is registered, showing this token of its.
    pub fn known_agent(&self, id: &str, author: &str, token: &str) -> TestCaller {
        TestCaller::new(self.address.clone(), Ipv4Addr::LOCALHOST, author.to_owned())
            .being_agent(id, token)
    }

    /// Registers an agent as `ask` says and mints it a token.
    pub async fn agent_of(&self, ask: Value) -> TestCaller {
        let agent = self.owner().post("/api/agents", ask).await.ok(201);
        let (id, author) = (text(&agent["id"]), text(&agent["authorId"]));
        let token = self.mint(&id, "test").await;
        self.known_agent(&id, &author, &token)
    }

    /// Mints a token and returns its text.
    pub async fn mint(&self, agent: &str, label: &str) -> String {
        let minted = self
            .owner()
            .post(
                &format!("/api/agents/{agent}/tokens"),
                json!({"label": label}),
            )
            .await
            .ok(201);
        text(&minted["token"])
    }
}
