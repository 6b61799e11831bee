//! Five thousand queries by the eight connections of a pool.

use std::env;
use std::time::Duration;

use bb8::Pool;
use bb8_postgres::PostgresConnectionManager;
use tokio_postgres::NoTls;

use crate::Failure;
use crate::measure::for_each;

const QUERIES: usize = 5_000;
const CONNECTIONS: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn run() -> Result<(), Failure> {
    let url = env::var("DATABASE_URL").map_err(|_| "there is no DATABASE_URL")?;
    let manager = PostgresConnectionManager::new_from_stringlike(url, NoTls)?;
    let builder = Pool::builder().max_size(CONNECTIONS).min_idle(CONNECTIONS);
    let pool = builder.connection_timeout(PATIENCE).build(manager).await?;
    let what = format!("{QUERIES} queries at once by {CONNECTIONS} connections");
    for_each(&what, QUERIES, move |n| {
        let (pool, n) = (pool.clone(), n as i64);
        async move {
            let row = pool.get().await?.query_one("SELECT $1::INT8 * $1", &[&n]).await?;
            assert_eq!(row.get::<_, i64>(0), n * n);
            Ok(())
        }
    })
    .await
}
