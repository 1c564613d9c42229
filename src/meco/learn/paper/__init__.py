"""The paper's training: episodes, reward, Double DQN. The learner needs torch, episodes do not."""
